-- The BRIN indexes of a partition.
--!not-null name
select i.relname as name
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_class t on t.oid = x.indrelid
join pg_am a on a.oid = i.relam
where t.relname = :partition::text and t.relnamespace = current_schema()::regnamespace and a.amname = 'brin'
