-- Some messages of a tenant that have any of some labels, in no order; :lowId is inclusive.
select m.id from messages m
where m.tenant_id = :tenantId and m.id >= :lowId::uuid and m.id < :belowId::uuid and m.labels && :labels::text[]
limit :limit
