-- Which of some messages a filter wants. $1 tenant, $2 ids.
select m.id from messages m where m.tenant_id = $1 and m.id = any($2::uuid[]) and /*indexed*/ true and /*residual*/ true
