-- A shard's messages that should have been delivered: $1 shard, $2 id to start after, $3 id to stop before, $4 overdue since, $5 created
-- before, $6 most rows, $7 created before, for occurrences. What is held is given too, so that nothing waits for ever.
select id, next_attempt_at, held, tenant_id, schedule_id from messages
where shard = $1 and state = 'pending' and id > $2 and id < $3 and next_attempt_at <= $4
  and (created_at <= $5 or (kind = 'occurrence' and created_at < $7))
order by id limit $6
