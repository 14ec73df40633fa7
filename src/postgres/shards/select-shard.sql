-- Who one shard was granted to last, and when. $1 shard.
select shard, epoch, node, granted_at from shards where shard = $1
