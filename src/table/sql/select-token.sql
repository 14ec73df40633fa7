-- Whose token has this hash. $1 SHA-256.
select hash, tenant_id from tokens where hash = $1
