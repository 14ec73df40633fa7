-- Inserts messages whose ids nobody else can have: an array for each column (message-columns.ts).
-- A tenant that does not exist gives null, which the column refuses: a foreign key costs much more (migration 0004).
--!nullable :reasons[], :scheduleIds[], :occurrenceAtMs[], :coversUntilMs[], :overlaps[], :idempotencyKeys[]
--!nullable :sourceIds[], :labels[], :options[]
--!type :kinds MessageKind
--!type :states MessageState
--!type :overlaps Exclude<OverlapPolicy, 'allow'>
insert into messages (
  id, tenant_id, shard, kind, state, reason, held, schedule_id, occurrence_at, covers_until, overlap, idempotency_key,
  source_id, due_at, next_attempt_at, created_at, finished_at, destination, method, headers, body, max_retries,
  timeout_ms, labels, options)
select
  id, (select t.id from tenants t where t.id = m.tenant_id), shard, kind, state, reason, held, schedule_id,
  occurrence_at, covers_until, overlap, idempotency_key, source_id, due_at, due_at, created_at,
  case when state = 'skipped' then created_at end, destination, method, headers, body, max_retries, timeout_ms,
  case when labels is null then null else (select array_agg(label) from jsonb_array_elements_text(labels) label) end,
  options
from unnest(
  :ids::uuid[], :tenantIds::integer[], :shards::smallint[], :kinds::text[], :states::text[], :reasons::text[],
  :held::boolean[], :scheduleIds::text[], :occurrenceAtMs::timestamptz[], :coversUntilMs::timestamptz[],
  :overlaps::text[], :idempotencyKeys::text[], :sourceIds::uuid[], :dueAtMs::timestamptz[],
  :createdAtMs::timestamptz[], :destinations::text[], :methods::text[], :headers::jsonb[], :bodies::bytea[],
  :maxRetries::integer[], :timeoutMs::integer[], :labels::jsonb[], :options::jsonb[]
) as m (
  id, tenant_id, shard, kind, state, reason, held, schedule_id, occurrence_at, covers_until, overlap, idempotency_key,
  source_id, due_at, created_at, destination, method, headers, body, max_retries, timeout_ms, labels, options)
