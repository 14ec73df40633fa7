-- Those of some schedules that a filter wants, in the order of their ids, with the bytes of their bodies. A null asks
-- nothing; hosts are lower case, with or without the port, labels any of them, and :search is a text that the id or the
-- destination has.
--!nullable :states, :destinations, :hosts, :labels, :search
--!not-null body_bytes
--!type :states ScheduleState
select s.id, octet_length(s.body) as body_bytes
from schedules s
cross join lateral lower(substring(s.destination from '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)')) as authority
where s.tenant_id = :tenantId and s.id = any(:ids::text[])
  and (:states::text[] is null or s.state = any(:states::text[]))
  and (:destinations::text[] is null or s.destination = any(:destinations::text[]))
  and (:hosts::text[] is null or authority = any(:hosts::text[]) or regexp_replace(authority, ':[0-9]*$',
    '') = any(:hosts::text[]))
  and (:labels::text[] is null or s.labels && :labels::text[])
  and (:search::text is null or position(lower(:search::text) in lower(s.id || ' ' || s.destination)) > 0)
order by s.id
limit :limit
