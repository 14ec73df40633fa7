-- A tenant, unless there is one of this name: then no row.
insert into tenants (name) values (:name) on conflict (name) do nothing returning id, name, created_at
