-- Every shard with its epoch and the process that it was granted to last; null when it never was.
select shard, epoch, node from shards order by shard
