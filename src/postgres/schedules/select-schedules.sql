-- A tenant's schedules of these ids, in order.
select
  --!include schedule-columns
from schedules
where tenant_id = :tenantId and id = any(:ids::text[])
order by id
