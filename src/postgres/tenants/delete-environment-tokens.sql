-- Revokes the environment's tokens of earlier starts; a row for each. $1 tenant or null, $2 SHA-256 of the one that stays, or null.
delete from tokens
 where source = 'environment' and tenant_id is not distinct from $1::integer and hash is distinct from $2::bytea
returning 1 as deleted
