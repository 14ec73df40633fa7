-- Failed attempts of a tenant that began or ended in one stretch of time, unordered. $1 tenant, $2 from (inclusive), $3 until (exclusive),
-- $4 an id above every message attempted in it, $5 at most so many, so that the caller learns that the stretch was too long.
select a.message_id as id, a.attempt, a.started_at, a.finished_at, a.next_attempt_at is not null as retried
from attempts a
where a.tenant_id = $1 and a.message_id < $4::uuid
  and (
    (a.started_at >= $2::timestamptz and a.started_at < $3::timestamptz)
    or (a.finished_at >= $2::timestamptz and a.finished_at < $3::timestamptz)
  )
limit $5
