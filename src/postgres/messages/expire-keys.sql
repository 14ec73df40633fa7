-- Sets when the keys of ended messages expire. The rows are locked in the order in which keys are claimed.
update idempotency_keys i set expires_at = locked.expires_at
from (
  select i.tenant_id, i.key, k.expires_at
  from unnest(:tenantIds::integer[], :keys::text[], :messageIds::uuid[], :expiresAtMs::timestamptz[]) as k (tenant_id,
    key, message_id, expires_at)
  join idempotency_keys i on i.tenant_id = k.tenant_id and i.scope = 'key' and i.key = k.key
    and i.message_id = k.message_id
  order by i.tenant_id, i.scope, i.key
  for update of i
) as locked
where i.tenant_id = locked.tenant_id and i.scope = 'key' and i.key = locked.key
