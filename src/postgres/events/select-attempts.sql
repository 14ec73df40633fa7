-- Failed attempts by message id and attempt number, pair by pair.
select
  --!include attempt-record-columns
from unnest(:messageIds::uuid[], :attempts::integer[]) as wanted (message_id, attempt)
cross join lateral (
  select a.* from attempts a where a.message_id = wanted.message_id and a.message_id = any(:messageIds::uuid[])
    and a.attempt = wanted.attempt offset 0
) a
