-- One step through a tenant's dead letters, the latest first: looks at no more than :stepRows of them, gives at most
-- :limit that the filter wants; ids only. :beyondId is beyond every dead letter (later weeks are not looked at); the
-- step begins after :afterMs and :afterId. The last row (is_last) is not one of them: it is the last that was looked
-- at, and says how many were.
--!nullable :diedFromMs, :diedToMs, :afterMs, :afterId
--!not-null id, finished_at, body_bytes, is_last, looked_at
with scanned as materialized (
  select m.id, m.finished_at, m.state, m.destination, m.options, m.idempotency_key, m.last_status,
    octet_length(m.body) as body_bytes
  from messages m
  where m.tenant_id = :tenantId and m.in_dlq and m.id < :beyondId::uuid
    and (:diedFromMs::timestamptz is null or m.finished_at >= :diedFromMs::timestamptz)
    and (:diedToMs::timestamptz is null or m.finished_at <= :diedToMs::timestamptz)
    and (:afterMs::timestamptz is null or (m.finished_at, m.id) < (:afterMs::timestamptz, :afterId::uuid))
    and (
    --!include indexed-filter
    )
  order by m.finished_at desc, m.id desc
  limit :stepRows
)
(
  select m.id, m.finished_at, m.body_bytes, false as is_last, 0 as looked_at from scanned m
  where (
  --!include residual-filter
  )
  order by m.finished_at desc, m.id desc
  limit :limit
)
union all
(
  select s.id, s.finished_at, 0, true, (select count(*)::integer from scanned) from scanned s
  order by s.finished_at, s.id
  limit 1
)
order by is_last, finished_at desc, id desc
