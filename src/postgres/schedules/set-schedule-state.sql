-- Pauses or resumes a schedule.
--!nullable :nextFireAtMs
--!type :state ScheduleState
update schedules set state = :state, next_fire_at = :nextFireAtMs::timestamptz,
  updated_at = greatest(updated_at, :nowMs::timestamptz),
  generation = generation + 1, error = null
where tenant_id = :tenantId and id = :id
returning *
