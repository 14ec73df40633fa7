-- Gives each shard's new epoch. A shard that a transaction of its former owner still holds on to is missing from the
-- answer, and may be asked for again: it is not to hold up the others.
update shards set epoch = epoch + 1, node = :node, granted_at = now()
where shard in (select shard from shards where shard = any(:shards::smallint[]) order by shard for update skip locked)
returning shard, epoch
