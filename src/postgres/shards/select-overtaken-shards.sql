-- Gives the shards whose epoch has risen since a node came to hold them by these.
select s.shard from shards s join unnest(:shards::smallint[], :epochs::bigint[]) as h (shard, epoch) using (shard)
where s.epoch > h.epoch
