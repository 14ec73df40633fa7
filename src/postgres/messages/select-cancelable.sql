-- Some pending messages of a tenant that a filter wants, in no order: what was found is canceled and found no more, and without an
-- order the index of pending rows is read only as far as needed. $1 tenant, $2 and $3 created from and to (or null), $4 at most so many.
select m.id
from messages m
where m.tenant_id = $1 and m.state = 'pending'
  and ($2::timestamptz is null or m.created_at >= $2::timestamptz)
  and ($3::timestamptz is null or m.created_at <= $3::timestamptz)
  and /*indexed*/ true and /*residual*/ true
limit $4
