-- The record of one occurrence: its own row, or a skipped row that stands for it and others. $1 tenant, $2 schedule, $3 nominal time,
-- $4 the lowest id due at that time (nothing of it is due earlier), $5 how many rows before it may be looked at for one that covers it,
-- $6 how many after it for its own: it is due later than its nominal time where there is a delay or a window.
(
  select later.id
  from (
    select m.id, m.occurrence_at from messages m
    where m.tenant_id = $1 and m.schedule_id = $2 and m.id >= $4::uuid
    order by m.id
    limit $6
  ) later
  where later.occurrence_at = $3::timestamptz
  order by later.id
  limit 1
)
union all
(
  select before.id
  from (
    select m.id, m.occurrence_at, m.covers_until from messages m
    where m.tenant_id = $1 and m.schedule_id = $2 and m.id < $4::uuid
    order by m.id desc
    limit $5
  ) before
  where before.occurrence_at <= $3::timestamptz and before.covers_until >= $3::timestamptz
  limit 1
)
