-- Revokes a token; a row when there was one. :id is the first 16 hexadecimal digits of the SHA-256. Administrators have
-- no tenant.
--!nullable :tenantId
--!not-null deleted
delete from tokens
 where (tenant_id = :tenantId or (:tenantId::integer is null and tenant_id is null)) and left(encode(hash, 'hex'),
   16) = :id
returning 1 as deleted
