-- A tenant's schedule.
select
  --!include schedule-columns
from schedules
where tenant_id = :tenantId and id = :id
