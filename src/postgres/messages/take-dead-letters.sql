-- Takes dead letters off the list, to send them again: $1 tenant, $2 ids. Gives those that were on it. The rows are locked in the order of
-- their ids.
update messages set in_dlq = false
where id = any($2::uuid[]) and id in (
  select id from messages where id = any($2::uuid[]) and tenant_id = $1 and in_dlq order by id for update)
returning id
