-- Creates schedules of a tenant whose ids are free, in the order of their ids: an array for each column, labels as
-- JSON. Anchors and generations as in insert-schedule.sql. Returns the ids that were new, and their generations.
--!nullable :nextFireAtMs[], :timeZones[], :startAtMs[], :endAtMs[], :keyTemplates[], :anchorAtMs[]
--!type :states ScheduleState
--!type :misfires MisfirePolicy
--!type :overlaps OverlapPolicy
insert into schedules (
  tenant_id, id, shard, state, next_fire_at, anchor_at, created_at, updated_at, cron, time_zone, destination, method,
  headers, body, max_retries, timeout_ms, labels, options, delay_ms, misfire, misfire_window_ms, overlap, window_ms,
  start_at, end_at, key_template, generation)
select
  :tenantId, id, shard, state, next_fire_at, coalesce(anchor_at, :nowMs::timestamptz), :nowMs::timestamptz,
  :nowMs::timestamptz, cron, time_zone, destination, method, headers, body, max_retries, timeout_ms,
  array(select jsonb_array_elements_text(labels)), options, delay_ms, misfire, misfire_window_ms, overlap, window_ms,
  start_at, end_at, key_template,
  (
    select coalesce(max(c.generation), 0) + 1 from schedule_changes c
    where c.tenant_id = :tenantId and c.schedule_id = s.id
  )
from unnest(
  :ids::text[], :shards::smallint[], :states::text[], :nextFireAtMs::timestamptz[], :crons::text[], :timeZones::text[],
  :destinations::text[], :methods::text[], :headers::jsonb[], :bodies::bytea[], :maxRetries::integer[],
  :timeoutMs::integer[], :labels::jsonb[], :options::jsonb[], :delayMs::bigint[], :misfires::text[],
  :misfireWindowMs::bigint[], :overlaps::text[], :windowMs::bigint[], :startAtMs::timestamptz[],
  :endAtMs::timestamptz[], :keyTemplates::text[], :anchorAtMs::timestamptz[]
) as s (
  id, shard, state, next_fire_at, cron, time_zone, destination, method, headers, body, max_retries, timeout_ms, labels,
  options, delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at, key_template, anchor_at)
order by id
on conflict (tenant_id, id) do nothing
returning id, generation
