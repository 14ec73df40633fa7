-- The next ids of schedules that do not run: parameters as in select-schedule-ids.sql, $6 states, of which none is "active".
select found.id
from unnest($6::text[]) as wanted (state)
cross join lateral (
  select s.id from schedules s
  where s.tenant_id = $1 and s.state <> 'active' and s.state = wanted.state and s.id >= $2 and s.id > $3
    and ($4::text is null or s.id < $4)
  order by s.id
  limit $5
) found
order by 1
limit $5
