-- All tenants in the order of their creation.
select id, name, created_at from tenants order by id
