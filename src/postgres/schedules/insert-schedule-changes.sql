-- Logs changes of a tenant's schedules.
--!type :changes ScheduleChange['change']
insert into schedule_changes (tenant_id, schedule_id, at, generation, change, detail)
select :tenantId, schedule_id, :atMs::timestamptz, generation, change, detail
from unnest(:scheduleIds::text[], :generations::integer[], :changes::text[], :details::jsonb[]) as c (schedule_id,
  generation, change, detail)
