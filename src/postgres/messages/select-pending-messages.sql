-- Those of some messages of a tenant that are still pending, with all that was asked for.
select m.id, m.state, m.kind, m.schedule_id, m.due_at, m.created_at, m.destination, m.method, m.headers, m.body, m.max_retries,
  m.timeout_ms, m.labels, m.options, m.idempotency_key
from messages m
where m.tenant_id = :tenantId and m.id = any(:ids::uuid[]) and m.state = 'pending'
order by m.shard, m.id
