-- The signing keys of a tenant, unless it has some.
insert into signing_keys (tenant_id, current_key, next_key) values (:tenantId, :current,
  :next) on conflict (tenant_id) do nothing
