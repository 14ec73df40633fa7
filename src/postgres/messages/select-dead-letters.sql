-- Dead letters of a tenant by their ids.
select m.id, m.state, m.kind, m.schedule_id, m.due_at, m.created_at, m.destination, m.method, m.headers, m.body, m.max_retries,
  m.timeout_ms, m.labels, m.options, m.idempotency_key, m.occurrence_at, m.finished_at, m.attempts, m.last_status, m.last_error, m.last_headers,
  m.last_body
from messages m
where m.tenant_id = :tenantId and m.in_dlq and m.id = any(:ids::uuid[])
