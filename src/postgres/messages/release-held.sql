-- Lets the next held occurrence of each schedule go, where none is under way: $1 tenants, $2 schedule ids, $3 an id beyond which nothing is
-- looked for: each week that is looked at is locked with its indexes, and weeks are made for years to come.
-- Gives the messages that are held no longer, to be queued. Where one is under way it comes first of its schedule's, and nothing goes.
-- The ids are gathered before the update, so that it looks into their partitions alone. The rows are locked in the order of their ids.
update messages m set held = false
where m.id < $3::uuid and m.id in (
  select h.id from messages h
  where h.id < $3::uuid and h.held and h.id = any (array(
    select first.id
    from unnest($1::integer[], $2::text[]) as s (tenant_id, schedule_id)
    cross join lateral (
      select p.id, p.held from messages p
      where p.tenant_id = s.tenant_id and p.schedule_id = s.schedule_id and p.state = 'pending' and p.overlap is not null
        and p.id < $3::uuid
      order by p.held, p.id limit 1
    ) as first
    where first.held
  ))
  order by h.id for update
)
returning m.tenant_id, m.schedule_id, m.id, m.shard, m.due_at
