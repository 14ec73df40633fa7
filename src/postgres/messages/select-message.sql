-- One message of a tenant, with what readers are shown.
select m.id, m.state, m.kind, m.schedule_id, m.due_at, m.created_at, m.destination, m.method, m.headers, m.body, m.max_retries,
  m.timeout_ms, m.labels, m.options
from messages m
where m.tenant_id = :tenantId and m.id = :id::uuid
