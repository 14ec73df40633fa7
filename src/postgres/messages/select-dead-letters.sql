-- Dead letters of a tenant by their ids.
select m.body, m.idempotency_key, m.occurrence_at, m.finished_at, m.attempts, m.last_status, m.last_error,
  m.last_headers, m.last_body,
  --!include message-record-columns
from messages m
where m.tenant_id = :tenantId and m.in_dlq and m.id = any(:ids::uuid[])
