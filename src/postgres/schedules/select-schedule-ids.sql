-- The next ids of a tenant's schedules, in order: $1 tenant, $2 from this id on, $3 after this one, $4 before this one (null: to the end),
-- $5 at most so many.
select s.id from schedules s
where s.tenant_id = $1 and s.id >= $2 and s.id > $3 and ($4::text is null or s.id < $4)
order by s.id
limit $5
