-- A tenant's dead letters by destination and error, the most numerous groups first. $1 tenant, $2 an id beyond every dead letter (later weeks are not
-- looked at), $3 how many are looked at, the latest, $4 how many groups. "looked_at" is the same in each row.
with latest as materialized (
  select m.destination, coalesce(m.last_status, 0) as status, left(coalesce(m.last_error, ''), 300) as error, m.finished_at
  from messages m
  where m.tenant_id = $1 and m.in_dlq and m.id < $2::uuid
  order by m.finished_at desc, m.id desc
  limit $3
)
select l.destination, l.status, l.error, count(*)::integer as count, min(l.finished_at) as first_at, max(l.finished_at) as latest_at,
  (select count(*)::integer from latest) as looked_at
from latest l
group by l.destination, l.status, l.error
order by count(*) desc, max(l.finished_at) desc
limit $4
