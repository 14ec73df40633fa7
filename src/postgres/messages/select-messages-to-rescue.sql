-- A shard's messages that should have been delivered, after one id and before another. Occurrences may have been
-- created later than others (:occurrencesBeforeMs). What is held is given too, so that nothing waits for ever.
select id, next_attempt_at, held, tenant_id, schedule_id from messages
where shard = :shard and state = 'pending' and id > :afterId and id < :untilId
  and next_attempt_at <= :overdueAtMs::timestamptz
  and (created_at <= :createdBeforeMs::timestamptz or (kind = 'occurrence'
    and created_at < :occurrencesBeforeMs::timestamptz))
order by id limit :limit
