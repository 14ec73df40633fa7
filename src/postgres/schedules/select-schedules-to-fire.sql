-- The schedules that a claim brought: $1 tenants, $2 ids. Reads no message: select-under-way is for those whose policy asks.
select s.* from unnest($1::integer[], $2::text[]) as k (tenant_id, id)
join schedules s using (tenant_id, id)
