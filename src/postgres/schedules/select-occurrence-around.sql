-- The occurrence of a schedule whose nominal time lies in a short stretch of time, and the ones before it. $1 tenant, $2 schedule, $3 and $4 the
-- stretch (both included), $5 the lowest id due at its beginning, $6 how many rows before it may be looked at for one that covers it,
-- $7 how many after it for its own: it is due later than its nominal time where there is a delay or a window.
-- Gives at most one row of each kind: "exact", "covers" (a skipped row that stands for it too) and "before" (that was to be sent).
with earlier as materialized (
  select m.id, m.occurrence_at, m.covers_until, m.state, m.held from messages m
  where m.tenant_id = $1 and m.schedule_id = $2 and m.id < $5::uuid
  order by m.id desc
  limit $6
)
(
  select 'exact' as what, later.id, later.held
  from (
    select m.id, m.held, m.occurrence_at from messages m
    where m.tenant_id = $1 and m.schedule_id = $2 and m.id >= $5::uuid
    order by m.id
    limit $7
  ) later
  where later.occurrence_at between $3::timestamptz and $4::timestamptz
  order by later.id
  limit 1
)
union all
(
  select 'covers', e.id, e.held from earlier e
  where e.occurrence_at <= $4::timestamptz and e.covers_until >= $3::timestamptz
  limit 1
)
union all
(
  select 'before', e.id, e.held from earlier e
  where e.occurrence_at is not null and e.state <> 'skipped'
  order by e.id desc
  limit 1
)
