-- Confirms cancels: from now on nothing begins to send these messages. $1 tenant, $2 ids. Returns those that this call confirmed: not what was
-- delivered meanwhile, nor what another call confirmed. The rows are locked in the order of their ids.
update messages set reason = 'canceled by the client'
where id = any($2::uuid[]) and id in (
  select id from messages where id = any($2::uuid[]) and tenant_id = $1 and state = 'canceled'
    and reason = 'canceled by the client, without confirmation from Redis' order by id for update)
returning id
