-- What events say about their messages. :maxBodyBytes is the longest body to give.
select m.id, m.state, m.kind, m.schedule_id, m.due_at, m.created_at, m.destination, m.method, m.headers,
  case when octet_length(m.body) <= :maxBodyBytes then m.body end as body, m.max_retries, m.timeout_ms, m.labels, m.options, m.last_status,
  m.last_error, m.last_headers, m.last_body, m.next_attempt_at
from messages m
where m.id = any(:messageIds::uuid[])
