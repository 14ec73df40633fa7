-- What happened to a tenant's messages in one stretch of time: marks of events, unordered, at most $6 of each kind (so that the caller
-- learns that the stretch was too long). $1 tenant, $2 from (inclusive), $3 until (exclusive), $4 an id below every message created in the
-- stretch, $5 an id above every message attempted or ended in it, $6 at most so many of each kind (null: all), $7 kinds wanted.
-- Skipped occurrences have no events. Gives matches = false for rows that only the unindexed part of the filter refuses.
select 'created' as kind, m.id, m.created_at as at, 0 as attempt, m.state, false as retried, (/*residual*/ true) as matches
from (
  select m.* from messages m
  where 'created' = any($7::text[]) and m.tenant_id = $1 and m.created_at >= $2::timestamptz and m.created_at < $3::timestamptz
    and m.id >= $4::uuid and m.state <> 'skipped' and /*indexed*/ true
  limit $6
) m
union all
select 'ended', m.id, m.finished_at, m.attempts, m.state, false, (/*residual*/ true)
from (
  select m.* from messages m
  where 'ended' = any($7::text[]) and m.tenant_id = $1 and m.finished_at >= $2::timestamptz and m.finished_at < $3::timestamptz
    and m.state in ('delivered', 'failed', 'canceled') and (m.id < $5::uuid or m.state = 'canceled') and /*indexed*/ true
  limit $6
) m
union all
select 'started', m.id, m.started_at, m.attempts, m.state, false, (/*residual*/ true)
from (
  select m.* from messages m
  where 'started' = any($7::text[]) and m.tenant_id = $1 and m.started_at >= $2::timestamptz and m.started_at < $3::timestamptz
    and m.state = 'delivered' and m.id < $5::uuid and /*indexed*/ true
  limit $6
) m
union all
select 'failed', a.message_id, a.finished_at, a.attempt, 'failed', a.next_attempt_at is not null, m.matches
from (
  select a.message_id, a.finished_at, a.attempt, a.next_attempt_at from attempts a
  where 'failed' = any($7::text[]) and a.tenant_id = $1 and a.finished_at >= $2::timestamptz and a.finished_at < $3::timestamptz
    and a.message_id < $5::uuid
  limit $6
) a
cross join lateral (
  select (/*indexed*/ true and /*residual*/ true) as matches from messages m where m.id = a.message_id offset 0
) m
union all
select 'started', a.message_id, a.started_at, a.attempt, 'failed', false, m.matches
from (
  select a.message_id, a.started_at, a.attempt from attempts a
  where 'started' = any($7::text[]) and a.tenant_id = $1 and a.started_at >= $2::timestamptz and a.started_at < $3::timestamptz
    and a.message_id < $5::uuid
  limit $6
) a
cross join lateral (
  select (/*indexed*/ true and /*residual*/ true) as matches from messages m where m.id = a.message_id offset 0
) m
