-- Canceled messages of a tenant whose cancel was not confirmed: $1 tenant, $2 ids. Columns as in cancel-messages.sql.
select id, shard, overlap, schedule_id, idempotency_key, attempts, due_at, next_attempt_at, created_at,
  octet_length(body) as body_bytes
from messages
where id = any($2::uuid[]) and tenant_id = $1 and state = 'canceled'
  and reason = 'canceled by the client, without confirmation from Redis'
