-- Some messages of a tenant that a filter wants and whose cancel was not confirmed, in no order. Looked for among what ended lately, by the
-- index on finished_at. $1 tenant, $2 and $3 created from and to (or null), $4 at most so many, $5 canceled after this.
select m.id
from messages m
where m.tenant_id = $1 and m.state = 'canceled' and m.finished_at >= $5
  and m.reason = 'canceled by the client, without confirmation from Redis'
  and ($2::timestamptz is null or m.created_at >= $2::timestamptz)
  and ($3::timestamptz is null or m.created_at <= $3::timestamptz)
  and /*indexed*/ true and /*residual*/ true
limit $4
