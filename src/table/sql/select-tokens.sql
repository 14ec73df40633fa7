-- The tokens of a tenant, oldest first. $1 tenant.
select hash, label, created_at from tokens where tenant_id = $1 order by created_at, hash
