-- Which of some messages a filter wants.
select m.id from messages m where m.tenant_id = :tenantId and m.id = any(:ids::uuid[]) and (
  --!include indexed-filter
  ) and (
  --!include residual-filter
  )
