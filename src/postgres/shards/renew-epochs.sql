-- Gives the new epoch of each shard that is still the node's; :epochs are those that it holds. PostgreSQL may have
-- granted more than the node heard of, when an answer was lost on its way: a node's name is that of one process, so
-- they are its own. The rows are locked in the order of the shards.
update shards s set epoch = s.epoch + 1, granted_at = now()
from (
  select s.shard from shards s join unnest(:shards::smallint[], :epochs::bigint[]) as h (shard, epoch) using (shard)
  where s.epoch >= h.epoch and s.node = :node
  order by s.shard for update of s
) as held
where s.shard = held.shard
returning s.shard, s.epoch
