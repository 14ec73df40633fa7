-- Who holds these keys: $1 tenants, $2 scopes, $3 keys.
select i.tenant_id, i.scope, i.key, i.message_id
from unnest($1::integer[], $2::text[], $3::text[]) as k (tenant_id, scope, key)
join idempotency_keys i using (tenant_id, scope, key)
