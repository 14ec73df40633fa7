-- A tenant, unless there is one of this name: then no row. $1 name.
insert into tenants (name) values ($1) on conflict (name) do nothing returning id, name, created_at
