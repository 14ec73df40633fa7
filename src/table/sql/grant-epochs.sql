-- $1 node, $2 shards. Gives each shard's new epoch.
update shards set epoch = epoch + 1, node = $1, granted_at = now()
where shard in (select shard from shards where shard = any($2::smallint[]) order by shard for update)
returning shard, epoch
