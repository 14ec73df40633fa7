-- The messages that hold idempotency keys.
select distinct i.message_id as id
from idempotency_keys i
where i.tenant_id = :tenantId and i.scope = 'key' and i.key = any(:keys::text[])
