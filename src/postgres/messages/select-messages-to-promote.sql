-- A shard's pending messages between two ids, in due order: $1 shard, $2 first id, $3 id to stop before, $4 horizon, $5 most rows.
-- Those held back, and retries due beyond the horizon, are left out.
select id, next_attempt_at from messages
where shard = $1 and state = 'pending' and id >= $2 and id < $3 and not held and next_attempt_at < $4
order by id limit $5
