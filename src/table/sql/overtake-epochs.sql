-- $1 node, $2 shards, $3 the epochs that the queue has. Gives the new epoch of each shard that is the node's.
update shards s set epoch = greatest(s.epoch, h.epoch) + 1, granted_at = now()
from unnest($2::smallint[], $3::bigint[]) as h (shard, epoch)
where s.shard = h.shard and s.node = $1
returning s.shard, s.epoch
