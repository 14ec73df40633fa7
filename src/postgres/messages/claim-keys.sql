-- Claims keys for messages: $1 tenants, $2 scopes, $3 keys, $4 message ids, $5 expiry times (null: while the message lives), $6 now.
-- A key that is free or expired is taken; one that is held is left. Gives the keys that were taken.
-- The rows come sorted, so that two groups with the same keys wait for each other in one order.
insert into idempotency_keys (tenant_id, scope, key, message_id, created_at, expires_at)
select tenant_id, scope, key, message_id, $6::timestamptz, expires_at
from unnest($1::integer[], $2::text[], $3::text[], $4::uuid[], $5::timestamptz[]) as k (tenant_id, scope, key, message_id, expires_at)
order by tenant_id, scope, key
on conflict (tenant_id, scope, key) do update
  set message_id = excluded.message_id, created_at = excluded.created_at, expires_at = excluded.expires_at
  where idempotency_keys.expires_at <= $6::timestamptz
returning tenant_id, scope, key
