-- Some messages of a tenant, as far as their events go. Skipped occurrences have no events.
select m.id, m.state, m.created_at, m.started_at, m.finished_at, m.attempts
from messages m
where m.tenant_id = :tenantId and m.id = any(:ids::uuid[]) and m.state <> 'skipped' and (
  --!include indexed-filter
  ) and (
  --!include residual-filter
  )
