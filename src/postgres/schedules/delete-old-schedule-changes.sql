-- Forgets changes of schedules: $1 those before, $2 most rows. Gives those it forgot. What another node is forgetting is left to it.
delete from schedule_changes where ctid = any (array(
  select ctid from schedule_changes where at < $1 limit $2 for update skip locked))
returning at
