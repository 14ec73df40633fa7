-- The next ids of schedules that have any of some marks (migrations/0002): parameters as in select-schedule-ids.sql.
-- Each mark's run of the index is read no further than the page needs.
--!nullable :beforeId
select distinct found.schedule_id as id
from unnest(:marks::text[]) as wanted (mark)
cross join lateral (
  select m.schedule_id from schedule_marks m
  where m.tenant_id = :tenantId and m.mark = wanted.mark and m.schedule_id >= :fromId and m.schedule_id > :afterId
    and (:beforeId::text is null or m.schedule_id < :beforeId)
  order by m.schedule_id
  limit :limit
) found
order by 1
limit :limit
