-- Those of some messages of a tenant that are still pending, with all that was asked for.
select m.body, m.idempotency_key,
  --!include message-record-columns
from messages m
where m.tenant_id = :tenantId and m.id = any(:ids::uuid[]) and m.state = 'pending'
order by m.shard, m.id
