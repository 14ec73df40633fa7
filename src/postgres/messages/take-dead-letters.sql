-- Takes dead letters off the list, to send them again. Gives those that were on it. The rows are locked in the order of
-- their ids.
update messages set in_dlq = false
where id = any(:ids::uuid[]) and id in (
  select id from messages where id = any(:ids::uuid[]) and tenant_id = :tenantId and in_dlq order by id for update)
returning id
