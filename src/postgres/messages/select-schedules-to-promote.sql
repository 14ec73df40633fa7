-- A shard's active schedules that fire from one time until before another, in that order, after a position: :fromMs,
-- :afterTenantId, :afterId.
--!not-null next_fire_at
select tenant_id, id, next_fire_at, generation from schedules
where shard = :shard and state = 'active' and next_fire_at >= :fromMs::timestamptz
  and next_fire_at < :untilMs::timestamptz
  and (next_fire_at, tenant_id, id) > (:fromMs::timestamptz, :afterTenantId, :afterId)
order by next_fire_at, tenant_id, id limit :limit
