-- The dead letters that messages are retries of. $1 tenant, $2 ids.
select m.source_id as id
from messages m
where m.tenant_id = $1 and m.id = any($2::uuid[]) and m.kind = 'dlq-retry' and m.source_id is not null
