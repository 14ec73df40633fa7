-- Ends the connections on which a transaction of a process that one of these shards was granted to last has stood still
-- for longer than :idleMs, less than any transaction's limit: it was frozen, or cut off, and its locks stand in the
-- way.
-- Gives the process's connection name, how long it stood still in milliseconds, and whether the connection could be
-- ended.
--!not-null name, idle_ms, ended
with former as (
  select distinct left('carillon ' || node, 63) as name from shards where shard = any(:shards::smallint[])
    and node is not null
)
select a.application_name as name,
  (extract(epoch from clock_timestamp() - a.state_change) * 1000)::integer as idle_ms,
  pg_terminate_backend(a.pid) as ended
from pg_stat_activity a join former f on f.name = a.application_name
where a.datname = current_database() and a.usename = current_user and a.pid <> pg_backend_pid()
  and a.state like 'idle in transaction%' and a.state_change < clock_timestamp() - :idleMs * interval '1 millisecond'
