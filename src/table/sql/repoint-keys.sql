-- Hands idempotency keys from dead letters to the messages that repeat them: $1 tenants, $2 keys, $3 dead letters, $4 new messages.
update idempotency_keys i set message_id = k.to_id, expires_at = null
from unnest($1::integer[], $2::text[], $3::uuid[], $4::uuid[]) as k (tenant_id, key, from_id, to_id)
where i.tenant_id = k.tenant_id and i.scope = 'key' and i.key = k.key and i.message_id = k.from_id
