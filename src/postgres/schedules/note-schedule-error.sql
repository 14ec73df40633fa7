-- Says on an active schedule why it cannot be fired. Gives its id when that was not there before. The next fire or
-- change takes it away.
update schedules set error = :error
where tenant_id = :tenantId and id = :id and state = 'active' and error is distinct from :error
returning id
