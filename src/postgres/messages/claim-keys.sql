-- Claims keys for messages. An expiry that is null: while the message lives.
-- A key that is free or expired is taken; one that is held is left. Gives the keys that were taken.
-- The rows come sorted, so that two groups with the same keys wait for each other in one order.
--!nullable :expiresAtMs[]
insert into idempotency_keys (tenant_id, scope, key, message_id, created_at, expires_at)
select tenant_id, scope, key, message_id, :nowMs::timestamptz, expires_at
from unnest(:tenantIds::integer[], :scopes::text[], :keys::text[], :messageIds::uuid[],
  :expiresAtMs::timestamptz[]) as k (tenant_id, scope, key, message_id, expires_at)
order by tenant_id, scope, key
on conflict (tenant_id, scope, key) do update
  set message_id = excluded.message_id, created_at = excluded.created_at, expires_at = excluded.expires_at
  where idempotency_keys.expires_at <= :nowMs::timestamptz
returning tenant_id, scope, key
