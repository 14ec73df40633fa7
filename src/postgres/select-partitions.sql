-- The partitions of some tables, in the order of their names.
--!not-null name
select child.relname as name
from pg_inherits
join pg_class parent on parent.oid = inhparent
join pg_class child on child.oid = inhrelid
where parent.relname = any(:tables::text[]) and parent.relnamespace = current_schema()::regnamespace
order by 1
