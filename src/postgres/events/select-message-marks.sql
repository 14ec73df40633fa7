-- Messages of a tenant that something happened to in one stretch of time, but for failed attempts, unordered. $1 tenant; $2 and $3 created,
-- $4 and $5 started, $6 and $7 ended from (inclusive) and until (exclusive), where equal times ask for none; $8 and $9 lowest id (inclusive)
-- and highest (exclusive); $10 at most so many, so that the caller learns that the stretch was too long. Rows that only the
-- unindexed part of the filter refuses come with matches = false. Skipped occurrences have no events.
select m.id, m.state, m.created_at, m.started_at, m.finished_at, m.attempts, (/*residual*/ true) as matches
from (
  select m.* from messages m
  where m.tenant_id = $1 and m.id >= $8::uuid and m.id < $9::uuid and m.state <> 'skipped' and /*indexed*/ true
    and (
      (m.created_at >= $2::timestamptz and m.created_at < $3::timestamptz)
      or (m.started_at >= $4::timestamptz and m.started_at < $5::timestamptz)
      or (m.finished_at >= $6::timestamptz and m.finished_at < $7::timestamptz)
    )
  limit $10
) m
