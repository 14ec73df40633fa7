-- Messages of a tenant that something happened to in one stretch of time, but for failed attempts, unordered. Times
-- from are inclusive and until exclusive, so that equal ones ask for none; :lowId is inclusive. :limit is so low that
-- the caller learns that the stretch was too long. Rows that only the unindexed part of the filter refuses come with
-- matches = false. Skipped occurrences have no events.
--!not-null matches
select m.id, m.state, m.created_at, m.started_at, m.finished_at, m.attempts, coalesce((
  --!include residual-filter
  ), false) as matches
from (
  select m.* from messages m
  where m.tenant_id = :tenantId and m.id >= :lowId::uuid and m.id < :belowId::uuid and m.state <> 'skipped' and (
  --!include indexed-filter
  )
    and (
      (m.created_at >= :createdFromMs::timestamptz and m.created_at < :createdUntilMs::timestamptz)
      or (m.started_at >= :startedFromMs::timestamptz and m.started_at < :startedUntilMs::timestamptz)
      or (m.finished_at >= :endedFromMs::timestamptz and m.finished_at < :endedUntilMs::timestamptz)
    )
  limit :limit
) m
