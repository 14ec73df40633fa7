-- Failed attempts of a tenant that began or ended in one stretch of time, unordered. :untilMs is exclusive, :belowId is
-- above every message attempted in it, and :limit is so low that the caller learns that the stretch was too long.
--!not-null retried
select a.message_id as id, a.attempt, a.started_at, a.finished_at, a.next_attempt_at is not null as retried
from attempts a
where a.tenant_id = :tenantId and a.message_id < :belowId::uuid
  and (
    (a.started_at >= :fromMs::timestamptz and a.started_at < :untilMs::timestamptz)
    or (a.finished_at >= :fromMs::timestamptz and a.finished_at < :untilMs::timestamptz)
  )
limit :limit
