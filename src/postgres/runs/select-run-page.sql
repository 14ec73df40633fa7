-- One step back through a tenant's record, the latest due first: looks at no more than $4 rows, gives at most $5 of them that the
-- filter wants. $1 tenant, $2 lowest id (inclusive), $3 id to begin below. Gives ids, how many rows were looked at, and the last of them.
with scanned as materialized (
  select m.id, m.state, m.destination, m.options, m.labels, m.idempotency_key, m.last_status
  from messages m
  where m.tenant_id = $1 and m.id >= $2::uuid and m.id < $3::uuid and /*indexed*/ true
  order by m.id desc
  limit $4
)
select
  array(select m.id from scanned m where /*residual*/ true order by m.id desc limit $5) as ids,
  (select count(*)::integer from scanned) as looked_at,
  (select s.id from scanned s order by s.id limit 1) as last_id
