-- The next ids of schedules that do not run: parameters as in select-schedule-ids.sql, none of the states is "active".
--!nullable :beforeId
--!type :states ScheduleState
select found.id
from unnest(:states::text[]) as wanted (state)
cross join lateral (
  select s.id from schedules s
  where s.tenant_id = :tenantId and s.state <> 'active' and s.state = wanted.state and s.id >= :fromId
    and s.id > :afterId
    and (:beforeId::text is null or s.id < :beforeId)
  order by s.id
  limit :limit
) found
order by 1
limit :limit
