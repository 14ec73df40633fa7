-- Revokes a token; a row when there was one. $1 tenant or null, $2 first 16 hexadecimal digits of the SHA-256.
delete from tokens
 where (tenant_id = $1 or ($1::integer is null and tenant_id is null)) and left(encode(hash, 'hex'), 16) = $2
returning 1 as deleted
