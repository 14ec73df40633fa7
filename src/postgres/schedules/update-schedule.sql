-- Replaces a schedule's definition and raises its generation. Parameters as in insert-schedule.sql; without an anchor
-- it stays.
--!nullable :nextFireAtMs, :timeZone, :startAtMs, :endAtMs, :keyTemplate, :anchorAtMs
--!type :state ScheduleState
--!type :misfire MisfirePolicy
--!type :overlap OverlapPolicy
update schedules set
  shard = :shard, state = :state, next_fire_at = :nextFireAtMs::timestamptz,
  updated_at = greatest(updated_at, :nowMs::timestamptz),
  generation = generation + 1, cron = :cron, time_zone = :timeZone,
  destination = :destination, method = :method, headers = :headers, body = :body, max_retries = :maxRetries,
  timeout_ms = :timeoutMs, labels = :labels::text[], options = :options,
  delay_ms = :delayMs, misfire = :misfire, misfire_window_ms = :misfireWindowMs, overlap = :overlap,
  window_ms = :windowMs, start_at = :startAtMs::timestamptz, end_at = :endAtMs::timestamptz,
  key_template = :keyTemplate, anchor_at = coalesce(:anchorAtMs::timestamptz, anchor_at), error = null
where tenant_id = :tenantId and id = :id
returning *
