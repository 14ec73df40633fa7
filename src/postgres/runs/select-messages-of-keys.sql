-- The messages that hold idempotency keys. $1 tenant, $2 keys.
select distinct i.message_id as id
from idempotency_keys i
where i.tenant_id = $1 and i.scope = 'key' and i.key = any($2::text[])
