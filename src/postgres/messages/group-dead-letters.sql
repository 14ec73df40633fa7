-- A tenant's dead letters by destination and error, the most numerous groups first. :beyondId is beyond every dead
-- letter (later weeks are not looked at); the latest :countedMax are looked at. "looked_at", how many that were, is the
-- same in each row.
--!not-null status, error, count, first_at, latest_at, looked_at
with latest as materialized (
  select m.destination, coalesce(m.last_status, 0) as status, left(coalesce(m.last_error, ''), 300) as error,
    m.finished_at
  from messages m
  where m.tenant_id = :tenantId and m.in_dlq and m.id < :beyondId::uuid
  order by m.finished_at desc, m.id desc
  limit :countedMax
)
select l.destination, l.status, l.error, count(*)::integer as count, min(l.finished_at) as first_at,
  max(l.finished_at) as latest_at,
  (select count(*)::integer from latest) as looked_at
from latest l
group by l.destination, l.status, l.error
order by count(*) desc, max(l.finished_at) desc
limit :groupsMax
