-- Forgets changes of schedules before a time, a bounded number. Gives those it forgot. What another node is forgetting
-- is left to it.
delete from schedule_changes where ctid = any (array(
  select ctid from schedule_changes where at < :beforeMs::timestamptz limit :limit for update skip locked))
returning at
