-- Cancels pending messages of a tenant: $1 tenant, $2 ids, $3 now. Returns those that were, with what tells whether Redis may have their
-- payloads. The rows are locked in the order of their ids. The reason stays until confirm-cancels.sql.
update messages set
  state = 'canceled', reason = 'canceled by the client, without confirmation from Redis', finished_at = $3, held = false
where id = any($2::uuid[]) and id in (
  select id from messages where id = any($2::uuid[]) and tenant_id = $1 and state = 'pending' order by id for update)
returning id, shard, overlap, schedule_id, idempotency_key, attempts, due_at, next_attempt_at, created_at,
  octet_length(body) as body_bytes
