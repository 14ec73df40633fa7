-- Creates a schedule unless its id is taken. $1 tenant, $2 id, $3 shard, $4 state, $5 next fire, $6 now, then the definition:
-- $7 cron, $8 zone, $9 destination, $10 method, $11 headers, $12 body, $13 retries, $14 timeout ms, $15 labels, $16 options,
-- $17 delay ms, $18 misfire, $19 misfire window ms, $20 overlap, $21 window ms, $22 start, $23 end, $24 key template,
-- $25 anchor (null: now).
-- The generation follows on that of a deleted schedule of this id: what was meant for that one must not be taken for this one's.
insert into schedules (
  tenant_id, id, shard, state, next_fire_at, anchor_at, created_at, updated_at, cron, time_zone, destination, method, headers,
  body, max_retries, timeout_ms, labels, options, delay_ms, misfire, misfire_window_ms, overlap, window_ms, start_at, end_at,
  key_template, generation)
values ($1, $2, $3, $4, $5, coalesce($25::timestamptz, $6), $6, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
  (select coalesce(max(generation), 0) + 1 from schedule_changes where tenant_id = $1 and schedule_id = $2))
on conflict (tenant_id, id) do nothing
returning *
