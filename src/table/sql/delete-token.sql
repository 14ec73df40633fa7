-- Takes a token away; gives a row when there was one. $1 tenant, $2 first 16 hexadecimal digits of the SHA-256.
delete from tokens where tenant_id = $1 and left(encode(hash, 'hex'), 16) = $2 returning 1 as deleted
