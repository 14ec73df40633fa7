-- The schedules that a claim brought, and what their overlap policies ask: whether an occurrence before is under way or waits, and
-- how many wait. The policy "allow" asks nothing, so that no message is read. $1 tenants, $2 ids.
select s.*, before.pending > 0 as under_way, before.held as waiting
from unnest($1::integer[], $2::text[]) as k (tenant_id, id)
join schedules s using (tenant_id, id)
cross join lateral (
  select count(*) as pending, (count(*) filter (where m.held))::integer as held
  from messages m
  where s.overlap <> 'allow' and m.tenant_id = s.tenant_id and m.schedule_id = s.id and m.state = 'pending' and m.overlap is not null
) as before
