-- A schedule, held against other changes until the transaction ends.
select * from schedules where tenant_id = :tenantId and id = :id for update
