-- The failed attempts of one message, in order; of more than :limit the latest.
select * from (
  select a.message_id, a.attempt, a.started_at, a.finished_at, a.status, a.error, a.headers, a.body, a.next_attempt_at, a.node
  from attempts a
  where a.tenant_id = :tenantId and a.message_id = :messageId::uuid
  order by a.attempt desc
  limit :limit
) latest
order by latest.attempt
