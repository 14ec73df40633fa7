-- The latest occurrences and manual runs of some schedules, newest first within each.
-- $1 tenant, $2 schedule ids, $3 and $4 for each the ids between which to look (from, until), $5 at most so many of each.
select wanted.schedule_id, recent.id, recent.state
from unnest($2::text[], $3::uuid[], $4::uuid[]) as wanted (schedule_id, from_id, until_id)
cross join lateral (
  select m.id, m.state
  from messages m
  where m.tenant_id = $1 and m.schedule_id = wanted.schedule_id and m.id >= wanted.from_id and m.id < wanted.until_id
    and m.kind in ('occurrence', 'manual') and m.state <> 'skipped'
  order by m.id desc
  limit $5
) recent
