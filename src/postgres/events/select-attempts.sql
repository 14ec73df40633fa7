-- Failed attempts by message id and attempt number, pair by pair.
select a.message_id, a.attempt, a.started_at, a.finished_at, a.status, a.error, a.headers, a.body, a.next_attempt_at, a.node
from unnest(:messageIds::uuid[], :attempts::integer[]) as wanted (message_id, attempt)
cross join lateral (
  select a.* from attempts a where a.message_id = wanted.message_id and a.message_id = any(:messageIds::uuid[]) and a.attempt = wanted.attempt offset 0
) a
