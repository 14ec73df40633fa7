-- Creates a schedule unless its id is taken. Without an anchor it is now. The generation follows on that of a deleted
-- schedule of this id: what was meant for that one must not be taken for this one's.
--!nullable :nextFireAtMs, :timeZone, :startAtMs, :endAtMs, :keyTemplate, :anchorAtMs
--!type :state ScheduleState
--!type :misfire MisfirePolicy
--!type :overlap OverlapPolicy
insert into schedules (
  tenant_id, id, shard, state, next_fire_at, anchor_at, created_at, updated_at, cron, time_zone, destination, method,
  headers, body, max_retries, timeout_ms, labels, options, delay_ms, misfire, misfire_window_ms, overlap, window_ms,
  start_at, end_at, key_template, generation)
values (
  :tenantId, :id, :shard, :state, :nextFireAtMs::timestamptz, coalesce(:anchorAtMs::timestamptz, :nowMs::timestamptz),
  :nowMs::timestamptz, :nowMs::timestamptz, :cron, :timeZone, :destination, :method, :headers, :body, :maxRetries,
  :timeoutMs, :labels::text[], :options, :delayMs, :misfire, :misfireWindowMs, :overlap, :windowMs,
  :startAtMs::timestamptz, :endAtMs::timestamptz, :keyTemplate,
  (select coalesce(max(generation), 0) + 1 from schedule_changes where tenant_id = :tenantId and schedule_id = :id))
on conflict (tenant_id, id) do nothing
returning *
