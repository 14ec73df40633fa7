-- Cancels pending messages of a tenant. Returns those that were, with what tells whether Redis may have their payloads.
-- The rows are locked in the order of their ids. The reason stays until confirm-cancels.sql.
--!not-null body_bytes
update messages set
  state = 'canceled', reason = 'canceled by the client, without confirmation from Redis',
  finished_at = :nowMs::timestamptz, held = false
where id = any(:ids::uuid[]) and id in (
  select id from messages where id = any(:ids::uuid[]) and tenant_id = :tenantId
    and state = 'pending' order by id for update)
returning id, shard, overlap, schedule_id, idempotency_key, attempts, due_at, next_attempt_at, created_at,
  octet_length(body) as body_bytes
