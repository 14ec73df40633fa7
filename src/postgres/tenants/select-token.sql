-- The token with this hash. $1 SHA-256.
select hash, tenant_id, expires_at, last_used_at from tokens where hash = $1
