-- The signing keys of a tenant.
select current_key as current, next_key as next from signing_keys where tenant_id = :tenantId
