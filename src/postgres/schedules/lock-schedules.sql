-- Schedules of a tenant, held against other changes until the transaction ends. Those that somebody else holds are left
-- out: who has some and waits for others would lock out a firing that has those and waits for these.
select * from schedules where tenant_id = :tenantId and id = any(:ids::text[]) for update skip locked
