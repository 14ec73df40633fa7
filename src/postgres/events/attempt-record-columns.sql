-- A failed attempt as readers see it: AttemptRecord.
--!fragment
a.message_id as "messageId", a.attempt, a.started_at as "startedAtMs", a.finished_at as "endedAtMs", a.status, a.error,
a.headers, a.body, a.next_attempt_at as "nextAttemptAtMs", a.node
