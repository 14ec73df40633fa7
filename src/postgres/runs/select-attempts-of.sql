-- The failed attempts of one message, in order. $1 tenant, $2 message id, $3 at most so many (the latest).
select * from (
  select a.message_id, a.attempt, a.started_at, a.finished_at, a.status, a.error, a.headers, a.body, a.next_attempt_at, a.node
  from attempts a
  where a.tenant_id = $1 and a.message_id = $2::uuid
  order by a.attempt desc
  limit $3
) latest
order by latest.attempt
