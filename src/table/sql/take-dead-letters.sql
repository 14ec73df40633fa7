-- Takes dead letters off the list, to send them again: $1 tenant, $2 ids. Gives those that were on it.
update messages set in_dlq = false where id = any($2::uuid[]) and tenant_id = $1 and in_dlq returning id
