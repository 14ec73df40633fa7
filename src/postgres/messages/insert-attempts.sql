-- Records failed attempts, once each. $1 message ids, $2 attempt numbers, $3 tenants, $4 started, $5 ended, $6 status, $7 error,
-- $8 answer headers, $9 answer body, $10 next attempt (null when it was the last), $11 node.
insert into attempts (message_id, attempt, tenant_id, started_at, finished_at, status, error, headers, body, next_attempt_at, node)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::timestamptz[], $5::timestamptz[], $6::integer[], $7::text[],
  $8::jsonb[], $9::bytea[], $10::timestamptz[], $11::text[])
on conflict do nothing
