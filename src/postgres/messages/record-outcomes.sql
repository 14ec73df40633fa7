-- Records what attempts came to. :ids are in their order. Rows are locked in it or, when the planner reads a week by
-- bitmap or whole, as they lie: two writers that thereby lock each other out are a matter of Database, which tries the
-- one again that was rolled back. The state "pending" says that another attempt follows, at a time that is null when
-- the outcome is final.
-- Outcomes are facts: a success also corrects a row that was given up or canceled meanwhile; anything else only moves a
-- row that is still pending. What a row was that a success corrects stays in its reason. Returns the ids of the rows
-- that took the outcome.
-- The condition on the state is a case so that the planner cannot estimate it: where it has not met a week's states yet
-- it expects one row, and would compare each row with each outcome.
--!nullable :statuses[], :errors[], :headers[], :bodies[], :nextAttemptAtMs[]
--!type :states MessageState
update messages m set
  state = o.state,
  attempts = greatest(m.attempts, o.attempt),
  last_status = o.status, last_error = o.error, last_headers = o.headers, last_body = o.body,
  started_at = o.started_at,
  finished_at = case when o.state = 'pending' then null else o.ended_at end,
  next_attempt_at = coalesce(o.next_attempt_at, m.next_attempt_at),
  in_dlq = o.state = 'failed',
  reason = case
    when o.state = 'pending' then m.reason
    when m.state = 'canceled' and m.reason = 'canceled by the client, without confirmation from Redis' then
      'canceled at ' || to_char(m.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        || ' without confirmation from Redis, and sent nevertheless'
    when m.state in ('canceled', 'failed') then
      case m.state when 'canceled' then 'canceled at ' else 'given up at ' end
        || to_char(m.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        || ', but a call that had begun before was answered'
  end,
  node = o.node
from unnest(
  :ids::uuid[], :states::text[], :attempts::integer[], :statuses::integer[], :errors::text[], :headers::jsonb[],
  :bodies::bytea[], :startedAtMs::timestamptz[], :endedAtMs::timestamptz[], :nextAttemptAtMs::timestamptz[],
  :nodes::text[]
) as o (id, state, attempt, status, error, headers, body, started_at, ended_at, next_attempt_at, node)
where m.id = o.id and m.id = any(:ids::uuid[])
  and case when o.state = 'delivered' then m.state in ('pending', 'failed', 'canceled') else m.state = 'pending' end
returning m.id
