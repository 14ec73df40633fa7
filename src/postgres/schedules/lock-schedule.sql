-- A schedule, held against other changes until the transaction ends: $1 tenant, $2 id.
select * from schedules where tenant_id = $1 and id = $2 for update
