-- Schedules of a tenant, held against other changes until the transaction ends: $1 tenant, $2 ids. Those that somebody else holds are left out:
-- who has some and waits for others would lock out a firing that has those and waits for these.
select * from schedules where tenant_id = $1 and id = any($2::text[]) for update skip locked
