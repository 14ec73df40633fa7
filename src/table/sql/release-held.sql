-- Lets the next held occurrence of each schedule go, where none is under way: $1 tenants, $2 schedule ids.
-- Gives the messages that are held no longer, to be queued.
update messages m set held = false
from (
  select distinct on (h.tenant_id, h.schedule_id) h.id
  from unnest($1::integer[], $2::text[]) as s (tenant_id, schedule_id)
  join messages h on h.tenant_id = s.tenant_id and h.schedule_id = s.schedule_id
  where h.state = 'pending' and h.overlap is not null and h.held
    and not exists (
      select 1 from messages u where u.tenant_id = h.tenant_id and u.schedule_id = h.schedule_id
        and u.state = 'pending' and u.overlap is not null and not u.held)
  order by h.tenant_id, h.schedule_id, h.id
) as next
where m.id = next.id
returning m.id, m.shard, m.due_at
