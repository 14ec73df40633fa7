-- The next pending messages of all tenants in the order of shard and id, whose index holds pending ones alone: $1 shard and $2 id after which
-- to begin, $3 at most so many; $4 tenant and $5 kinds that are wanted. The body's bytes are null for those that are not.
select m.shard, m.id, case when m.tenant_id = $4 and m.kind = any($5::text[]) then octet_length(m.body) end as body_bytes
from messages m
where m.state = 'pending' and (m.shard, m.id) > ($1::smallint, $2::uuid)
order by m.shard, m.id
limit $3
