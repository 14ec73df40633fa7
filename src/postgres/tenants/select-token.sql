-- The token with this hash.
select hash, tenant_id, expires_at, last_used_at from tokens where hash = :hash
