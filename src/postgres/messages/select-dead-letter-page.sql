-- One step through a tenant's dead letters, the latest first: looks at no more than $7 of them, gives at most $8 that the filter wants; ids only.
-- $1 tenant, $2 an id beyond every dead letter (later weeks are not looked at), $3 and $4 died from and to (or null), $5 and $6 time and id
-- after which the step begins (or null). The last row (is_last) is not one of them: it is the last that was looked at, and says how many were.
with scanned as materialized (
  select m.id, m.finished_at, m.state, m.destination, m.options, m.idempotency_key, m.last_status, octet_length(m.body) as body_bytes
  from messages m
  where m.tenant_id = $1 and m.in_dlq and m.id < $2::uuid
    and ($3::timestamptz is null or m.finished_at >= $3::timestamptz)
    and ($4::timestamptz is null or m.finished_at <= $4::timestamptz)
    and ($5::timestamptz is null or (m.finished_at, m.id) < ($5::timestamptz, $6::uuid))
    and /*indexed*/ true
  order by m.finished_at desc, m.id desc
  limit $7
)
(
  select m.id, m.finished_at, m.body_bytes, false as is_last, 0 as looked_at from scanned m
  where /*residual*/ true
  order by m.finished_at desc, m.id desc
  limit $8
)
union all
(
  select s.id, s.finished_at, 0, true, (select count(*)::integer from scanned) from scanned s
  order by s.finished_at, s.id
  limit 1
)
order by is_last, finished_at desc, id desc
