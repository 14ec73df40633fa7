-- Some messages of a tenant that have any of some labels, in no order: $1 tenant, $2 lowest id (inclusive), $3 id to stay below, $4 labels,
-- $5 at most so many.
select m.id from messages m
where m.tenant_id = $1 and m.id >= $2::uuid and m.id < $3::uuid and m.labels && $4::text[]
limit $5
