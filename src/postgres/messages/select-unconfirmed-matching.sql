-- Some messages of a tenant that a filter wants and whose cancel was not confirmed, in no order. Looked for among what
-- ended lately, by the index on finished_at.
--!nullable :createdFromMs, :createdToMs
select m.id
from messages m
where m.tenant_id = :tenantId and m.state = 'canceled' and m.finished_at >= :canceledFromMs::timestamptz
  and m.reason = 'canceled by the client, without confirmation from Redis'
  and (:createdFromMs::timestamptz is null or m.created_at >= :createdFromMs::timestamptz)
  and (:createdToMs::timestamptz is null or m.created_at <= :createdToMs::timestamptz)
  and (
  --!include indexed-filter
  ) and (
  --!include residual-filter
  )
limit :limit
