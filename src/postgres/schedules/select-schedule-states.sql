-- The latest occurrences and manual runs of some schedules, newest first within each: for each the ids between which to
-- look, and at most :limit of each.
--!not-null schedule_id
select wanted.schedule_id, recent.id, recent.state
from unnest(:scheduleIds::text[], :fromIds::uuid[], :untilIds::uuid[]) as wanted (schedule_id, from_id, until_id)
cross join lateral (
  select m.id, m.state
  from messages m
  where m.tenant_id = :tenantId and m.schedule_id = wanted.schedule_id and m.id >= wanted.from_id
    and m.id < wanted.until_id
    and m.kind in ('occurrence', 'manual') and m.state <> 'skipped'
  order by m.id desc
  limit :limit
) recent
