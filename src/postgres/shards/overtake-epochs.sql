-- Gives the new epoch of each shard that is the node's, above the one that Redis has. The rows are locked in the
-- order of the shards.
update shards s set epoch = greatest(s.epoch, held.epoch) + 1, granted_at = now()
from (
  select s.shard, h.epoch from shards s join unnest(:shards::smallint[], :epochs::bigint[]) as h (shard,
    epoch) using (shard)
  where s.node = :node
  order by s.shard for update of s
) as held
where s.shard = held.shard
returning s.shard, s.epoch
