-- How many rows of a tenant's record are in each state, from :lowId until before :belowId. :limit rows are looked at
-- and no more: counting those of a host must not read everything to find a few. "looked_at" sums up to all that were
-- read.
--!not-null count, looked_at
select looked.state, (count(*) filter (where looked.matches))::integer as count, count(*)::integer as looked_at
from (
  select m.state, coalesce((
  --!include residual-filter
  ), false) as matches
  from messages m
  where m.tenant_id = :tenantId and m.id >= :lowId::uuid and m.id < :belowId::uuid and (
  --!include indexed-filter
  )
  limit :limit
) looked
group by looked.state
