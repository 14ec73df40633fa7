-- Who holds these keys.
select i.tenant_id, i.scope, i.key, i.message_id
from unnest(:tenantIds::integer[], :scopes::text[], :keys::text[]) as k (tenant_id, scope, key)
join idempotency_keys i using (tenant_id, scope, key)
