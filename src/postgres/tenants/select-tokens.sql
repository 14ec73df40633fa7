-- The tokens of a tenant, or of administrators, oldest first. $1 tenant or null.
select hash, label, source, created_at, expires_at, last_used_at from tokens
 where tenant_id = $1 or ($1::integer is null and tenant_id is null)
 order by created_at, hash
