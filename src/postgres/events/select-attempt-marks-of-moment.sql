-- Failed attempts of a tenant that began or ended in one millisecond, in the order of their messages' ids. :untilMs is
-- exclusive, :lowId and :highId are inclusive.
--!not-null retried
select a.message_id as id, a.attempt, a.started_at, a.finished_at, a.next_attempt_at is not null as retried
from attempts a
where a.tenant_id = :tenantId and a.message_id >= :lowId::uuid and a.message_id <= :highId::uuid
  and (
    (a.started_at >= :fromMs::timestamptz and a.started_at < :untilMs::timestamptz)
    or (a.finished_at >= :fromMs::timestamptz and a.finished_at < :untilMs::timestamptz)
  )
order by case when :lowestFirst::boolean then a.message_id end, case when not :lowestFirst::boolean then a.message_id
  end desc, a.attempt
limit :limit
