-- The schedules that a claim brought: $1 tenants, $2 ids.
select s.*, exists (
    select 1 from messages m
    where s.overlap <> 'allow' and m.tenant_id = s.tenant_id and m.schedule_id = s.id and m.state = 'pending' and m.overlap is not null
  ) as under_way,
  case when s.overlap = 'queue' then (
    select count(*)::integer from messages m
    where m.tenant_id = s.tenant_id and m.schedule_id = s.id and m.state = 'pending' and m.overlap is not null and m.held
  ) else 0 end as waiting
from unnest($1::integer[], $2::text[]) as k (tenant_id, id)
join schedules s using (tenant_id, id)
