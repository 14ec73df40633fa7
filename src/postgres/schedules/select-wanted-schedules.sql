-- Those of some schedules that a filter wants, in the order of their ids, with the bytes of their bodies. $1 tenant, $2 ids, then what is
-- asked, or null: $3 states, $4 destinations, $5 hosts (lower case, with or without the port), $6 labels, any of them, $7 a text that the
-- id or the destination has. $8 at most so many.
select s.id, octet_length(s.body) as body_bytes
from schedules s
cross join lateral lower(substring(s.destination from '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)')) as authority
where s.tenant_id = $1 and s.id = any($2::text[])
  and ($3::text[] is null or s.state = any($3::text[]))
  and ($4::text[] is null or s.destination = any($4::text[]))
  and ($5::text[] is null or authority = any($5::text[]) or regexp_replace(authority, ':[0-9]*$', '') = any($5::text[]))
  and ($6::text[] is null or s.labels && $6::text[])
  and ($7::text is null or position(lower($7::text) in lower(s.id || ' ' || s.destination)) > 0)
order by s.id
limit $8
