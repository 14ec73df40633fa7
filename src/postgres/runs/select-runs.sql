-- The record of messages by their ids, the latest due first. :answerBytes is how much of the answer to give.
-- first_started_at is when the first attempt began: its row where it failed, otherwise the message's own. The ids stand there
-- twice, so that planning leaves out the weeks of attempts that have none of them.
select m.id, m.kind, m.state, m.reason, m.in_dlq, m.schedule_id, m.occurrence_at, m.covers_until, m.idempotency_key, m.source_id,
  m.due_at, m.next_attempt_at, m.created_at, m.finished_at, m.attempts, m.max_retries, m.last_status, m.last_error, m.last_headers,
  substring(m.last_body from 1 for :answerBytes) as last_body, m.node, m.destination, m.method, m.labels,
  coalesce(
    (select a.started_at from attempts a where a.message_id = m.id and a.message_id = any(:ids::uuid[]) and a.attempt = 1),
    m.started_at
  ) as first_started_at
from messages m
where m.tenant_id = :tenantId and m.id = any(:ids::uuid[])
order by m.id desc
