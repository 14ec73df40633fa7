-- The failed attempts of some messages, as far as their events go.
--!not-null retried
select a.message_id as id, a.attempt, a.started_at, a.finished_at, a.next_attempt_at is not null as retried
from attempts a
where a.message_id = any(:messageIds::uuid[])
