-- Makes a pending message a dead letter that was not attempted: $1 id, $2 why, $3 now. Gives what waits for its end, when it was pending.
update messages set state = 'failed', in_dlq = true, held = false, last_status = null, last_error = $2, last_headers = null,
  last_body = null, finished_at = $3
where id = $1::uuid and state = 'pending'
returning id, tenant_id, overlap, schedule_id, idempotency_key
