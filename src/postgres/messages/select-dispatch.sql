-- What delivery needs of messages. An id that is not there gives no row.
select id, tenant_id, shard, kind, state, held, schedule_id, occurrence_at, overlap, idempotency_key, source_id, due_at,
  next_attempt_at, created_at, attempts, destination, method, headers, body, max_retries, timeout_ms, labels, options
from messages where id = any(:ids::uuid[])
