-- Schedules with occurrences under way or waiting (overlap policies "skip" and "queue"), of those given: $1 tenants, $2 ids, $3 an id beyond
-- which nothing is looked for (release-held.sql says why).
-- Looks into every week before, since an occurrence that waits may be old: asked only for schedules whose policy needs it.
select m.tenant_id, m.schedule_id as id, (count(*) filter (where m.held))::integer as waiting
from unnest($1::integer[], $2::text[]) as k (tenant_id, id)
join messages m on m.tenant_id = k.tenant_id and m.schedule_id = k.id
where m.state = 'pending' and m.overlap is not null and m.id < $3::uuid
group by m.tenant_id, m.schedule_id
