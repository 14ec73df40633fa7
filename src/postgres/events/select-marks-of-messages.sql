-- Some messages of a tenant, as far as their events go. $1 tenant, $2 ids. Skipped occurrences have no events.
select m.id, m.state, m.created_at, m.started_at, m.finished_at, m.attempts
from messages m
where m.tenant_id = $1 and m.id = any($2::uuid[]) and m.state <> 'skipped' and /*indexed*/ true and /*residual*/ true
