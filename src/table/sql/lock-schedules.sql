-- Schedules of a tenant, held against other changes until the transaction ends, in the order of their ids: $1 tenant, $2 ids.
select * from schedules where tenant_id = $1 and id = any($2::text[]) order by id for update
