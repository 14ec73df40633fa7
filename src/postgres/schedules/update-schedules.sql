-- Replaces the definitions of schedules and raises their generations. Parameters as in insert-schedules.sql. Gives ids
-- and generations.
--!nullable :nextFireAtMs[], :timeZones[], :startAtMs[], :endAtMs[], :keyTemplates[], :anchorAtMs[]
--!type :states ScheduleState
--!type :misfires MisfirePolicy
--!type :overlaps OverlapPolicy
update schedules s set
  shard = n.shard, state = n.state, next_fire_at = n.next_fire_at,
  updated_at = greatest(s.updated_at, :nowMs::timestamptz),
  generation = s.generation + 1, cron = n.cron, time_zone = n.time_zone, destination = n.destination, method = n.method,
  headers = n.headers, body = n.body, max_retries = n.max_retries, timeout_ms = n.timeout_ms,
  labels = array(select jsonb_array_elements_text(n.labels)), options = n.options, delay_ms = n.delay_ms,
  misfire = n.misfire, misfire_window_ms = n.misfire_window_ms, overlap = n.overlap, window_ms = n.window_ms,
  start_at = n.start_at, end_at = n.end_at, key_template = n.key_template, anchor_at = coalesce(n.anchor_at, s.anchor_at), error = null
from unnest(
  :ids::text[], :shards::smallint[], :states::text[], :nextFireAtMs::timestamptz[], :crons::text[], :timeZones::text[],
  :destinations::text[], :methods::text[], :headers::jsonb[], :bodies::bytea[], :maxRetries::integer[],
  :timeoutMs::integer[], :labels::jsonb[], :options::jsonb[], :delayMs::bigint[], :misfires::text[],
  :misfireWindowMs::bigint[], :overlaps::text[], :windowMs::bigint[], :startAtMs::timestamptz[],
  :endAtMs::timestamptz[], :keyTemplates::text[], :anchorAtMs::timestamptz[]
) as n (
  id, shard, state, next_fire_at, cron, time_zone, destination, method, headers, body, max_retries, timeout_ms, labels,
  options, delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at, key_template, anchor_at)
where s.tenant_id = :tenantId and s.id = n.id
returning s.id, s.generation
