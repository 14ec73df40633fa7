-- Gives keys back that a message had taken before it lost another: $1 tenants, $2 scopes, $3 keys, $4 message ids.
delete from idempotency_keys i
using unnest($1::integer[], $2::text[], $3::text[], $4::uuid[]) as k (tenant_id, scope, key, message_id)
where i.tenant_id = k.tenant_id and i.scope = k.scope and i.key = k.key and i.message_id = k.message_id
