-- Cancels pending messages of a tenant: $1 tenant, $2 ids, $3 now. Gives those that were. The rows are locked in the order of their ids.
update messages set state = 'canceled', reason = 'canceled by the client', finished_at = $3, held = false
where id = any($2::uuid[]) and id in (
  select id from messages where id = any($2::uuid[]) and tenant_id = $1 and state = 'pending' order by id for update)
returning id, shard, overlap, schedule_id, idempotency_key
