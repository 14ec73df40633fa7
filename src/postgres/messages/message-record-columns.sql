-- What a message says about itself to readers, but for its body, which some are given in part (message-reads.ts).
--!fragment
m.id, m.state, m.kind, m.schedule_id, m.due_at, m.created_at, m.destination, m.method, m.headers, m.max_retries,
m.timeout_ms, m.labels, m.options
