-- Lets the next held occurrence of each schedule go, where none is under way. Nothing is looked for from :untilId on:
-- each week that is looked at is locked with its indexes, and weeks are made for years to come.
-- Gives the messages that are held no longer, to be queued. Where one is under way it comes first of its schedule's,
-- and nothing goes. The ids are gathered before the update, so that it looks into their partitions alone. The rows are
-- locked in the order of their ids.
--!not-null schedule_id
update messages m set held = false
where m.id < :untilId::uuid and m.id in (
  select h.id from messages h
  where h.id < :untilId::uuid and h.held and h.id = any (array(
    select first.id
    from unnest(:tenantIds::integer[], :scheduleIds::text[]) as s (tenant_id, schedule_id)
    cross join lateral (
      select p.id, p.held from messages p
      where p.tenant_id = s.tenant_id and p.schedule_id = s.schedule_id and p.state = 'pending'
        and p.overlap is not null
        and p.id < :untilId::uuid
      order by p.held, p.id limit 1
    ) as first
    where first.held
  ))
  order by h.id for update
)
returning m.tenant_id, m.schedule_id, m.id, m.shard, m.due_at
