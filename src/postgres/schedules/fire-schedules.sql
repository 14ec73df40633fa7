-- Advances schedules whose occurrences are being recorded in the same transaction, fenced by the epochs of
-- :fencedShards. Of each schedule: the next fire as it was read (expected), from now on (null: none is left), and the
-- nominal time of the latest occurrence handled.
-- Gives the schedules that were advanced (one that was edited, paused or deleted meanwhile is not), and a row with a
-- null id for each shard whose epoch is current. Shards are locked in their order, as by everybody who takes several.
-- Schedules are locked as the plan finds them (an order costs this statement half as much again): whoever else takes
-- several must not wait for one (lock-schedules.sql).
--!nullable :expectedFireAtMs[], :nextFireAtMs[]
--!not-null shard
with fence as materialized (
  select s.shard from shards s
  join unnest(:fencedShards::smallint[], :epochs::bigint[]) as f (shard, epoch) using (shard, epoch)
  order by s.shard for share of s
), advanced as (
update schedules s set
  next_fire_at = f.next_at,
  last_fire_at = f.last_at,
  state = case when f.next_at is null then 'ended' else s.state end,
  error = null
from unnest(:tenantIds::integer[], :ids::text[], :generations::integer[], :expectedFireAtMs::timestamptz[],
  :nextFireAtMs::timestamptz[], :lastFireAtMs::timestamptz[], :shards::smallint[])
  as f (tenant_id, id, generation, expected_at, next_at, last_at, shard)
join fence using (shard)
where s.tenant_id = f.tenant_id and s.id = f.id and s.generation = f.generation and s.state = 'active'
  and s.next_fire_at = f.expected_at
returning s.shard, s.tenant_id, s.id
)
select shard, null as tenant_id, null as id from fence
union all
select shard, tenant_id, id from advanced
