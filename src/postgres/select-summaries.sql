-- The BRIN indexes of all weeks, in the order of their names, with the sizes of their tables and whether PostgreSQL
-- summarizes them by itself.
--!not-null name, bytes, automatic
select i.relname as name, pg_relation_size(x.indrelid)::float8 as bytes,
  coalesce(i.reloptions @> array['autosummarize=on'], false) as automatic
from pg_inherits h
join pg_class p on p.oid = h.inhparent
join pg_index x on x.indrelid = h.inhrelid
join pg_class i on i.oid = x.indexrelid
join pg_am a on a.oid = i.relam
where p.relname in ('messages', 'attempts') and p.relnamespace = current_schema()::regnamespace and a.amname = 'brin'
order by i.relname
