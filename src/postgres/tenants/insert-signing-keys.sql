-- The signing keys of a tenant, unless it has some. $1 tenant, $2 current, $3 next.
insert into signing_keys (tenant_id, current_key, next_key) values ($1, $2, $3) on conflict (tenant_id) do nothing
