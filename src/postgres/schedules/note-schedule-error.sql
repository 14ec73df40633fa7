-- Says on an active schedule why it cannot be fired: $1 tenant, $2 id, $3 why. Gives its id when that was not there before. The next fire or
-- change takes it away.
update schedules set error = $3
where tenant_id = $1 and id = $2 and state = 'active' and error is distinct from $3
returning id
