-- Some pending messages of a tenant that a filter wants, in no order: what was found is canceled and found no more, and
-- without an order the index of pending rows is read only as far as needed.
--!nullable :createdFromMs, :createdToMs
select m.id
from messages m
where m.tenant_id = :tenantId and m.state = 'pending'
  and (:createdFromMs::timestamptz is null or m.created_at >= :createdFromMs::timestamptz)
  and (:createdToMs::timestamptz is null or m.created_at <= :createdToMs::timestamptz)
  and (
  --!include indexed-filter
  ) and (
  --!include residual-filter
  )
limit :limit
