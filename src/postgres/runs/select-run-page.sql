-- One step back through a tenant's record, the latest due first: begins below :belowId, ends at :lowId, looks at no
-- more than :stepRows rows, gives at most :limit of them that the filter wants. Gives ids, how many rows were looked
-- at, and the last of them.
--!not-null ids, looked_at
--!nullable last_id, :walkedLabels
with scanned as materialized (
  select m.id, m.state, m.destination, m.options, m.labels, m.idempotency_key, m.last_status
  from messages m
  where m.tenant_id = :tenantId and m.id >= :lowId::uuid and m.id < :belowId::uuid and (
  --!include indexed-filter
  )
  order by m.id desc
  limit :stepRows
)
select
  array(select m.id from scanned m where (:walkedLabels::text[] is null or m.labels && :walkedLabels::text[]) and (
  --!include residual-filter
  ) order by m.id desc limit :limit) as ids,
  (select count(*)::integer from scanned) as looked_at,
  (select s.id from scanned s order by s.id limit 1) as last_id
