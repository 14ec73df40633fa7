-- All that happened to some messages, by their ids, as marks of events, unordered. $1 tenant, $2 ids. The filter is asked of the messages.
with wanted as materialized (
  select m.id, m.state, m.created_at, m.started_at, m.finished_at, m.attempts
  from messages m
  where m.tenant_id = $1 and m.id = any($2::uuid[]) and m.state <> 'skipped' and /*indexed*/ true and /*residual*/ true
)
select 'created' as kind, m.id, m.created_at as at, 0 as attempt, m.state, false as retried from wanted m
union all
select 'started', m.id, m.started_at, m.attempts, m.state, false from wanted m
where m.state = 'delivered' and m.started_at is not null
union all
select 'ended', m.id, m.finished_at, m.attempts, m.state, false from wanted m
where m.state in ('delivered', 'failed', 'canceled') and m.finished_at is not null
union all
select happened.kind, a.message_id, happened.at, a.attempt, 'failed', happened.kind = 'failed' and a.next_attempt_at is not null
from wanted m
cross join lateral (select a.* from attempts a where a.message_id = m.id offset 0) a
cross join lateral (values ('started', a.started_at), ('failed', a.finished_at)) as happened (kind, at)
