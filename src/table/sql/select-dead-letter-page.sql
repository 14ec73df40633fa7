-- One page of a tenant's dead letters, the latest first; ids only. $1 tenant, $2 an id beyond every dead letter (later weeks are not
-- looked at), $3 and $4 died from and to (or null), $5 and $6 time and id after which the page begins (or null), $7 at most so many.
select m.id, m.finished_at, octet_length(m.body) as body_bytes
from messages m
where m.tenant_id = $1 and m.in_dlq and m.id < $2::uuid
  and ($3::timestamptz is null or m.finished_at >= $3::timestamptz)
  and ($4::timestamptz is null or m.finished_at <= $4::timestamptz)
  and ($5::timestamptz is null or (m.finished_at, m.id) < ($5::timestamptz, $6::uuid))
  and /*indexed*/ true and /*residual*/ true
order by m.finished_at desc, m.id desc
limit $7
