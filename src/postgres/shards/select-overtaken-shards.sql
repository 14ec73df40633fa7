-- $1 shards, $2 the epochs that a node holds them by. Gives the shards whose epoch has risen since.
select s.shard from shards s join unnest($1::smallint[], $2::bigint[]) as h (shard, epoch) using (shard)
where s.epoch > h.epoch
