-- How many rows of a tenant's record are in each state. $1 tenant, $2 lowest id, $3 id to stay below, $4 most rows to look at: counting those
-- of a host must not read everything to find a few. "looked_at" sums up to all that were read.
select looked.state, (count(*) filter (where looked.matches))::integer as count, count(*)::integer as looked_at
from (
  select m.state, (/*residual*/ true) as matches
  from messages m
  where m.tenant_id = $1 and m.id >= $2::uuid and m.id < $3::uuid and /*indexed*/ true
  limit $4
) looked
group by looked.state
