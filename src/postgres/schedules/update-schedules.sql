-- Replaces the definitions of schedules and raises their generations. Parameters as in insert-schedules.sql. Gives ids and generations.
update schedules s set
  shard = n.shard, state = n.state, next_fire_at = n.next_fire_at, updated_at = $6, generation = s.generation + 1, cron = n.cron,
  time_zone = n.time_zone, destination = n.destination, method = n.method, headers = n.headers, body = n.body,
  max_retries = n.max_retries, timeout_ms = n.timeout_ms, labels = array(select jsonb_array_elements_text(n.labels)),
  options = n.options, delay_ms = n.delay_ms, misfire = n.misfire, misfire_window_ms = n.misfire_window_ms, overlap = n.overlap,
  window_ms = n.window_ms, start_at = n.start_at, end_at = n.end_at, key_template = n.key_template,
  anchor_at = coalesce(n.anchor_at, s.anchor_at), error = null
from unnest(
  $2::text[], $3::smallint[], $4::text[], $5::timestamptz[], $7::text[], $8::text[], $9::text[], $10::text[], $11::jsonb[], $12::bytea[],
  $13::integer[], $14::integer[], $15::jsonb[], $16::jsonb[], $17::bigint[], $18::text[], $19::bigint[], $20::text[], $21::bigint[],
  $22::timestamptz[], $23::timestamptz[], $24::text[], $25::timestamptz[]
) as n (id, shard, state, next_fire_at, cron, time_zone, destination, method, headers, body, max_retries, timeout_ms, labels, options,
  delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at, key_template, anchor_at)
where s.tenant_id = $1 and s.id = n.id
returning s.id, s.generation
