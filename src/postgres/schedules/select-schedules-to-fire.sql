-- The schedules that a claim brought. Reads no message: select-under-way is for those whose policy asks.
select s.* from unnest(:tenantIds::integer[], :ids::text[]) as k (tenant_id, id)
join schedules s using (tenant_id, id)
