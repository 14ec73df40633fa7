-- Canceled messages of a tenant whose cancel was not confirmed. Columns as in cancel-messages.sql.
--!not-null body_bytes
select id, shard, overlap, schedule_id, idempotency_key, attempts, due_at, next_attempt_at, created_at,
  octet_length(body) as body_bytes
from messages
where id = any(:ids::uuid[]) and tenant_id = :tenantId and state = 'canceled'
  and reason = 'canceled by the client, without confirmation from Redis'
