-- Inserts messages whose ids nobody else can have. $1 to $23: one array a column (message-columns.ts).
-- A tenant that does not exist gives null, which the column refuses: a foreign key costs much more (migration 0004).
insert into messages (
  id, tenant_id, shard, kind, state, reason, held, schedule_id, occurrence_at, covers_until, overlap, idempotency_key, source_id,
  due_at, next_attempt_at, created_at, finished_at, destination, method, headers, body, max_retries, timeout_ms, labels, options)
select
  id, (select t.id from tenants t where t.id = m.tenant_id), shard, kind, state, reason, held, schedule_id, occurrence_at, covers_until, overlap, idempotency_key, source_id,
  due_at, due_at, created_at, case when state = 'skipped' then created_at end, destination, method, headers, body, max_retries,
  timeout_ms, case when labels is null then null else (select array_agg(label) from jsonb_array_elements_text(labels) label) end,
  options
from unnest(
  $1::uuid[], $2::integer[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[], $9::timestamptz[],
  $10::timestamptz[], $11::text[], $12::text[], $13::uuid[], $14::timestamptz[], $15::timestamptz[], $16::text[], $17::text[],
  $18::jsonb[], $19::bytea[], $20::integer[], $21::integer[], $22::jsonb[], $23::jsonb[]
) as m (id, tenant_id, shard, kind, state, reason, held, schedule_id, occurrence_at, covers_until, overlap, idempotency_key,
  source_id, due_at, created_at, destination, method, headers, body, max_retries, timeout_ms, labels, options)
