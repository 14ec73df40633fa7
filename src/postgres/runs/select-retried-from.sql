-- The dead letters that messages are retries of.
--!not-null id
select m.source_id as id
from messages m
where m.tenant_id = :tenantId and m.id = any(:ids::uuid[]) and m.kind = 'dlq-retry' and m.source_id is not null
