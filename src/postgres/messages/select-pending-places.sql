-- The next pending messages of all tenants in the order of shard and id, whose index holds pending ones alone. The
-- body's bytes are null for those that are not the tenant's, or of other kinds than wanted.
--!type :kinds MessageKind
select m.shard, m.id, case when m.tenant_id = :tenantId and m.kind = any(:kinds::text[]) then octet_length(m.body) end
  as body_bytes
from messages m
where m.state = 'pending' and (m.shard, m.id) > (:afterShard::smallint, :afterId::uuid)
order by m.shard, m.id
limit :limit
