-- A schedule (schedule-row.ts).
--!fragment
tenant_id, id, shard, generation, state, cron, time_zone, anchor_at, destination, method, headers, body, max_retries,
timeout_ms, labels, options, delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at, key_template,
next_fire_at, last_fire_at, created_at, updated_at, error
