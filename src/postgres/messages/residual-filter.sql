-- The conditions of a message filter that no index answers: they stand where the rows that were found, a bounded
-- number, are looked at. A null asks nothing. Hosts are in lower case, with or without the port; paths as in the URL,
-- without the query; status 0 stands for "no answer".
--!fragment
--!nullable :urls, :hosts, :paths, :callerIps, :idempotencyKeys, :states, :lastStatuses
--!type :states MessageState
(:urls::text[] is null or m.destination = any(:urls::text[]))
and (:hosts::text[] is null
  or lower(substring(m.destination from '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)')) = any(:hosts::text[])
  or regexp_replace(lower(substring(m.destination from '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)')), ':[0-9]*$',
    '') = any(:hosts::text[]))
and (:paths::text[] is null
  or coalesce(nullif(substring(m.destination from '^[A-Za-z]+://[^/?#]*([^?#]*)'), ''), '/') = any(:paths::text[]))
and (:callerIps::text[] is null or coalesce(m.options->>'callerIp' = any(:callerIps::text[]), false))
and (:idempotencyKeys::text[] is null or coalesce(m.idempotency_key = any(:idempotencyKeys::text[]), false))
and (:states::text[] is null or m.state = any(:states::text[]))
and (:lastStatuses::integer[] is null or coalesce(m.last_status, 0) = any(:lastStatuses::integer[]))
