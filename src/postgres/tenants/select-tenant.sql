-- The tenant of a name. $1 name.
select id, name, created_at from tenants where name = $1
