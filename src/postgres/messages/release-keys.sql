-- Gives keys back that a message had taken before it lost another.
delete from idempotency_keys i
using unnest(:tenantIds::integer[], :scopes::text[], :keys::text[], :messageIds::uuid[]) as k (tenant_id, scope, key,
  message_id)
where i.tenant_id = k.tenant_id and i.scope = k.scope and i.key = k.key and i.message_id = k.message_id
