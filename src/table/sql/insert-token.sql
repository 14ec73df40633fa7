-- A token, unless it is known. $1 SHA-256, $2 tenant or null, $3 role, $4 label.
insert into tokens (hash, tenant_id, role, label) values ($1, $2, $3, $4) on conflict (hash) do nothing
