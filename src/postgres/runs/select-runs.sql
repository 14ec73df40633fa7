-- The record of messages by their ids, the latest due first; its columns have the names of Run (domain/run.ts).
-- :answerBytes is how much of the answer to give. The ids stand there twice, so that planning leaves out the weeks of
-- attempts that have none of them.
--!not-null labels
select
  m.id, m.kind, m.state, m.reason,
  m.in_dlq as "isDeadLetter",
  m.schedule_id as "scheduleId",
  m.occurrence_at as "occurrenceAtMs",
  m.covers_until as "coversUntilMs",
  m.idempotency_key as "idempotencyKey",
  m.source_id as "sourceId",
  m.due_at as "dueAtMs",
  m.created_at as "createdAtMs",
  -- Of the first attempt: its row where it failed, otherwise the message's own.
  coalesce(
    (
      select a.started_at from attempts a
      where a.message_id = m.id and a.message_id = any(:ids::uuid[]) and a.attempt = 1
    ),
    m.started_at
  ) as "startedAtMs",
  m.finished_at as "endedAtMs",
  m.next_attempt_at as "nextAttemptAtMs",
  m.attempts,
  m.max_retries as "maxRetries",
  m.last_status as "lastStatus",
  m.last_error as "lastError",
  m.last_headers as "lastHeaders",
  substring(m.last_body from 1 for :answerBytes) as "lastBody",
  m.node, m.destination, m.method,
  coalesce(m.labels, '{}') as labels
from messages m
where m.tenant_id = :tenantId and m.id = any(:ids::uuid[])
order by m.id desc
