-- The tokens of a tenant, or of administrators (null), oldest first.
--!nullable :tenantId
select hash, label, source, created_at, expires_at, last_used_at from tokens
 where tenant_id = :tenantId or (:tenantId::integer is null and tenant_id is null)
 order by created_at, hash
