-- Schedules with occurrences under way or waiting (overlap policies "skip" and "queue"), of those given. Nothing is
-- looked for from :untilId on (release-held.sql says why). Looks into every week before, since an occurrence that waits
-- may be old: asked only for schedules whose policy needs it.
--!not-null id, waiting
select m.tenant_id, m.schedule_id as id, (count(*) filter (where m.held))::integer as waiting
from unnest(:tenantIds::integer[], :ids::text[]) as k (tenant_id, id)
join messages m on m.tenant_id = k.tenant_id and m.schedule_id = k.id
where m.state = 'pending' and m.overlap is not null and m.id < :untilId::uuid
group by m.tenant_id, m.schedule_id
