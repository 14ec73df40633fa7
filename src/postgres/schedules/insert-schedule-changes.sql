-- Logs changes of a tenant's schedules: $1 tenant, $2 time, then arrays: $3 schedules, $4 generations, $5 changes, $6 details.
insert into schedule_changes (tenant_id, schedule_id, at, generation, change, detail)
select $1, schedule_id, $2, generation, change, detail
from unnest($3::text[], $4::integer[], $5::text[], $6::jsonb[]) as c (schedule_id, generation, change, detail)
