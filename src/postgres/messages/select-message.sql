-- One message of a tenant, with what readers are shown.
select m.body,
  --!include message-record-columns
from messages m
where m.tenant_id = :tenantId and m.id = :id::uuid
