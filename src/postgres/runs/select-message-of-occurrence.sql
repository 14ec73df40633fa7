-- The record of one occurrence: its own row, or a skipped row that stands for it and others. :lowId is the lowest id
-- due at its nominal time (nothing of it is due earlier); :rowsBefore is how many rows before it may be looked at for
-- one that covers it, :rowsAfter how many after it for its own: it is due later than its nominal time where there is a
-- delay or a window.
--!not-null id
(
  select later.id
  from (
    select m.id, m.occurrence_at from messages m
    where m.tenant_id = :tenantId and m.schedule_id = :scheduleId and m.id >= :lowId::uuid
    order by m.id
    limit :rowsAfter
  ) later
  where later.occurrence_at = :occurrenceAtMs::timestamptz
  order by later.id
  limit 1
)
union all
(
  select before.id
  from (
    select m.id, m.occurrence_at, m.covers_until from messages m
    where m.tenant_id = :tenantId and m.schedule_id = :scheduleId and m.id < :lowId::uuid
    order by m.id desc
    limit :rowsBefore
  ) before
  where before.occurrence_at <= :occurrenceAtMs::timestamptz and before.covers_until >= :occurrenceAtMs::timestamptz
  limit 1
)
