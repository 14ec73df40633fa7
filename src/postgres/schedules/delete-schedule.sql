-- Deletes a schedule, and gives it.
delete from schedules where tenant_id = :tenantId and id = :id returning *
