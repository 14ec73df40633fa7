-- Confirms cancels: from now on nothing begins to send these messages. Returns those that this call confirmed: not what
-- was delivered meanwhile, nor what another call confirmed. The rows are locked in the order of their ids.
update messages set reason = 'canceled by the client'
where id = any(:ids::uuid[]) and id in (
  select id from messages where id = any(:ids::uuid[]) and tenant_id = :tenantId and state = 'canceled'
    and reason = 'canceled by the client, without confirmation from Redis' order by id for update)
returning id
