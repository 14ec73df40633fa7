-- A created token, unless its owner has as many as there may be: then no row. $1 SHA-256, $2 tenant or null, $3 role, $4 label, $5 expiry or
-- null, $6 most tokens of one owner.
insert into tokens (hash, tenant_id, role, label, expires_at)
select $1::bytea, $2::integer, $3, $4, $5::timestamptz
 where (select count(*) from tokens where tenant_id = $2 or ($2::integer is null and tenant_id is null)) < $6::integer
returning 1 as inserted
