-- Creates schedules of a tenant whose ids are free, in the order of their ids. $1 tenant, then arrays: $2 ids, $3 shards, $4 states, $5 next
-- fire; $6 now; then arrays of the definition's columns in the order of insert-schedule.sql, labels as JSON.
-- Generations as there. Returns the ids that were new, and their generations.
insert into schedules (
  tenant_id, id, shard, state, next_fire_at, anchor_at, created_at, updated_at, cron, time_zone, destination, method, headers,
  body, max_retries, timeout_ms, labels, options, delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at,
  key_template, generation)
select
  $1, id, shard, state, next_fire_at, coalesce(anchor_at, $6), $6, $6, cron, time_zone, destination, method, headers, body, max_retries, timeout_ms,
  array(select jsonb_array_elements_text(labels)), options, delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at,
  key_template,
  (select coalesce(max(c.generation), 0) + 1 from schedule_changes c where c.tenant_id = $1 and c.schedule_id = s.id)
from unnest(
  $2::text[], $3::smallint[], $4::text[], $5::timestamptz[], $7::text[], $8::text[], $9::text[], $10::text[], $11::jsonb[], $12::bytea[],
  $13::integer[], $14::integer[], $15::jsonb[], $16::jsonb[], $17::bigint[], $18::text[], $19::bigint[], $20::text[], $21::bigint[],
  $22::timestamptz[], $23::timestamptz[], $24::text[], $25::timestamptz[]
) as s (id, shard, state, next_fire_at, cron, time_zone, destination, method, headers, body, max_retries, timeout_ms, labels, options,
  delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at, key_template, anchor_at)
order by id
on conflict (tenant_id, id) do nothing
returning id, generation
