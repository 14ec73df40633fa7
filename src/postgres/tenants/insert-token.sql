-- A created token, unless its owner has :tokensMax: then no row. Administrators have no tenant; null: it never expires.
--!nullable :tenantId, :expiresAtMs
--!not-null inserted
insert into tokens (hash, tenant_id, role, label, expires_at)
select :hash::bytea, :tenantId::integer, :role, :label, :expiresAtMs::timestamptz
 where (
   select count(*) from tokens where tenant_id = :tenantId or (:tenantId::integer is null and tenant_id is null)
 ) < :tokensMax::integer
returning 1 as inserted
