-- The failed attempts of one message, in order; of more than :limit the latest.
select
  --!include attempt-record-columns
from (
  select a.* from attempts a
  where a.tenant_id = :tenantId and a.message_id = :messageId::uuid
  order by a.attempt desc
  limit :limit
) a
order by a.attempt
