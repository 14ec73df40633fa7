-- Revokes the environment's tokens of earlier starts but for the one that stays, if any; a row for each. Administrators
-- have no tenant.
--!nullable :tenantId, :keptHash
--!not-null deleted
delete from tokens
 where source = 'environment' and tenant_id is not distinct from :tenantId::integer
   and hash is distinct from :keptHash::bytea
returning 1 as deleted
