-- Records failed attempts, once each. The next attempt is null when it was the last.
--!nullable :statuses[], :errors[], :headers[], :bodies[], :nextAttemptAtMs[]
insert into attempts (
  message_id, attempt, tenant_id, started_at, finished_at, status, error, headers, body, next_attempt_at, node)
select * from unnest(
  :messageIds::uuid[], :attempts::integer[], :tenantIds::integer[], :startedAtMs::timestamptz[],
  :finishedAtMs::timestamptz[], :statuses::integer[], :errors::text[], :headers::jsonb[], :bodies::bytea[],
  :nextAttemptAtMs::timestamptz[], :nodes::text[])
on conflict do nothing
