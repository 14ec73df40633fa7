-- Makes a token the environment's, whether it is known or not. No row when it is known as somebody else's.
-- Administrators have no tenant.
--!nullable :tenantId
--!not-null known
insert into tokens (hash, tenant_id, role, label, source) values (:hash, :tenantId, :role, 'from the environment',
  'environment')
    on conflict (hash) do update set source = 'environment', expires_at = null
 where tokens.tenant_id is not distinct from excluded.tenant_id
returning 1 as known
