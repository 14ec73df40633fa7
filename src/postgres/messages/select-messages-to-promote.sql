-- A shard's pending messages from one id until before another, in due order. Those held back, and retries due beyond
-- the horizon, are left out.
select id, next_attempt_at from messages
where shard = :shard and state = 'pending' and id >= :fromId and id < :untilId and not held
  and next_attempt_at < :horizonAtMs::timestamptz
order by id limit :limit
