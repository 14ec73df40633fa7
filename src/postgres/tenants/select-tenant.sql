-- The tenant of a name.
select id, name, created_at from tenants where name = :name
