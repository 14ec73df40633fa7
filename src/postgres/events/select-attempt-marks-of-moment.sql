-- Failed attempts of a tenant that began or ended in one millisecond, in the order of their messages' ids. $1 tenant,
-- $2 from (inclusive), $3 until (exclusive), $4 lowest and $5 highest id (both inclusive), $6 at most so many, $7
-- whether the lowest id is first.
select a.message_id as id, a.attempt, a.started_at, a.finished_at, a.next_attempt_at is not null as retried
from attempts a
where a.tenant_id = $1 and a.message_id >= $4::uuid and a.message_id <= $5::uuid
  and (
    (a.started_at >= $2::timestamptz and a.started_at < $3::timestamptz)
    or (a.finished_at >= $2::timestamptz and a.finished_at < $3::timestamptz)
  )
order by case when $7::boolean then a.message_id end, case when not $7::boolean then a.message_id end desc, a.attempt
limit $6
