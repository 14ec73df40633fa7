-- The occurrence of a schedule whose nominal time lies in a short stretch of time, both ends included, and the ones
-- before it. :lowId is the lowest id due at its beginning; :rowsBefore is how many rows before it may be looked at for
-- one that covers it, :rowsAfter how many after it for its own: it is due later than its nominal time where there is a
-- delay or a window.
-- Gives at most one row of each kind: "exact", "covers" (a skipped row that stands for it too) and "before" (that was
-- to be sent).
--!not-null what, id, held
--!type what 'exact' | 'covers' | 'before'
with earlier as materialized (
  select m.id, m.occurrence_at, m.covers_until, m.state, m.held from messages m
  where m.tenant_id = :tenantId and m.schedule_id = :scheduleId and m.id < :lowId::uuid
  order by m.id desc
  limit :rowsBefore
)
(
  select 'exact' as what, later.id, later.held
  from (
    select m.id, m.held, m.occurrence_at from messages m
    where m.tenant_id = :tenantId and m.schedule_id = :scheduleId and m.id >= :lowId::uuid
    order by m.id
    limit :rowsAfter
  ) later
  where later.occurrence_at between :fromMs::timestamptz and :toMs::timestamptz
  order by later.id
  limit 1
)
union all
(
  select 'covers', e.id, e.held from earlier e
  where e.occurrence_at <= :toMs::timestamptz and e.covers_until >= :fromMs::timestamptz
  limit 1
)
union all
(
  select 'before', e.id, e.held from earlier e
  where e.occurrence_at is not null and e.state <> 'skipped'
  order by e.id desc
  limit 1
)
