-- Sets when the keys of ended messages expire: $1 tenants, $2 keys, $3 message ids, $4 expiry times.
update idempotency_keys i set expires_at = k.expires_at
from unnest($1::integer[], $2::text[], $3::uuid[], $4::timestamptz[]) as k (tenant_id, key, message_id, expires_at)
where i.tenant_id = k.tenant_id and i.scope = 'key' and i.key = k.key and i.message_id = k.message_id
