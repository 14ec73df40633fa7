-- A shard's active schedules that fire between two times, in that order, after a position: $1 shard, $2 time, $3 tenant, $4 id of the
-- position (inclusive of nothing), $5 time to stop before, $6 most rows.
select tenant_id, id, next_fire_at, generation from schedules
where shard = $1 and state = 'active' and next_fire_at >= $2 and next_fire_at < $5
  and (next_fire_at, tenant_id, id) > ($2, $3, $4)
order by next_fire_at, tenant_id, id limit $6
