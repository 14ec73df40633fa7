-- Messages of a tenant that something happened to in one millisecond, in the order of their ids: as
-- select-message-marks.sql, but $8 lowest and $9 highest id (both inclusive), $10 at most so many, $11 whether the
-- lowest id is first. However many there are, no more are held than asked for.
select m.id, m.state, m.created_at, m.started_at, m.finished_at, m.attempts, (/*residual*/ true) as matches
from (
  select m.* from messages m
  where m.tenant_id = $1 and m.id >= $8::uuid and m.id <= $9::uuid and m.state <> 'skipped' and /*indexed*/ true
    and (
      (m.created_at >= $2::timestamptz and m.created_at < $3::timestamptz)
      or (m.started_at >= $4::timestamptz and m.started_at < $5::timestamptz)
      or (m.finished_at >= $6::timestamptz and m.finished_at < $7::timestamptz)
    )
  order by case when $11::boolean then m.id end, case when not $11::boolean then m.id end desc
  limit $10
) m
