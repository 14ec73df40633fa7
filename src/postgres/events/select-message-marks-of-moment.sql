-- Messages of a tenant that something happened to in one millisecond, in the order of their ids: as
-- select-message-marks.sql, but :highId is inclusive. However many there are, no more are held than asked for.
--!not-null matches
select m.id, m.state, m.created_at, m.started_at, m.finished_at, m.attempts, coalesce((
  --!include residual-filter
  ), false) as matches
from (
  select m.* from messages m
  where m.tenant_id = :tenantId and m.id >= :lowId::uuid and m.id <= :highId::uuid and m.state <> 'skipped' and (
  --!include indexed-filter
  )
    and (
      (m.created_at >= :createdFromMs::timestamptz and m.created_at < :createdUntilMs::timestamptz)
      or (m.started_at >= :startedFromMs::timestamptz and m.started_at < :startedUntilMs::timestamptz)
      or (m.finished_at >= :endedFromMs::timestamptz and m.finished_at < :endedUntilMs::timestamptz)
    )
  order by case when :lowestFirst::boolean then m.id end, case when not :lowestFirst::boolean then m.id end desc
  limit :limit
) m
