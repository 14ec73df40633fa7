-- Replaces a schedule's definition and raises its generation. Parameters as in insert-schedule.sql; without an anchor it stays.
update schedules set
  shard = $3, state = $4, next_fire_at = $5, updated_at = $6, generation = generation + 1, cron = $7, time_zone = $8,
  destination = $9, method = $10, headers = $11, body = $12, max_retries = $13, timeout_ms = $14, labels = $15, options = $16,
  delay_ms = $17, misfire = $18, misfire_window_ms = $19, overlap = $20, window_ms = $21, start_at = $22, end_at = $23,
  key_template = $24, anchor_at = coalesce($25, anchor_at), error = null
where tenant_id = $1 and id = $2
returning *
