-- Makes a pending message a dead letter that was not attempted. Gives what waits for its end, when it was pending.
update messages set state = 'failed', in_dlq = true, held = false, last_status = null, last_error = :reason,
  last_headers = null,
  last_body = null, finished_at = :nowMs::timestamptz
where id = :id::uuid and state = 'pending'
returning id, tenant_id, overlap, schedule_id, idempotency_key
