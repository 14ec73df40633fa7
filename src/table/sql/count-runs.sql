-- How many rows of a tenant's record are in each state. $1 tenant, $2 lowest id, $3 id to stay below, $4 most rows to count.
select counted.state, count(*)::integer as count
from (
  select m.state
  from messages m
  where m.tenant_id = $1 and m.id >= $2::uuid and m.id < $3::uuid and /*indexed*/ true and /*residual*/ true
  limit $4
) counted
group by counted.state
