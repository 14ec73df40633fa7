-- Who one shard was granted to last, and when.
select shard, epoch, node, granted_at from shards where shard = :shard
