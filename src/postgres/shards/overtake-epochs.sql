-- $1 node, $2 shards, $3 the epochs that Redis has. Gives the new epoch of each shard that is the node's. The rows are locked in
-- the order of the shards.
update shards s set epoch = greatest(s.epoch, held.epoch) + 1, granted_at = now()
from (
  select s.shard, h.epoch from shards s join unnest($2::smallint[], $3::bigint[]) as h (shard, epoch) using (shard)
  where s.node = $1
  order by s.shard for update of s
) as held
where s.shard = held.shard
returning s.shard, s.epoch
