-- Hands idempotency keys from dead letters to the messages that repeat them. The rows are locked in the order in which
-- keys are claimed.
update idempotency_keys i set message_id = locked.to_id, expires_at = null
from (
  select i.tenant_id, i.key, k.to_id
  from unnest(:tenantIds::integer[], :keys::text[], :fromIds::uuid[], :toIds::uuid[]) as k (tenant_id, key, from_id,
    to_id)
  join idempotency_keys i on i.tenant_id = k.tenant_id and i.scope = 'key' and i.key = k.key
    and i.message_id = k.from_id
  order by i.tenant_id, i.scope, i.key
  for update of i
) as locked
where i.tenant_id = locked.tenant_id and i.scope = 'key' and i.key = locked.key
