-- $1 tenant, $2 id. Gives the schedule that was deleted.
delete from schedules where tenant_id = $1 and id = $2 returning *
