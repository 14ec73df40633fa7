-- BRIN indexes are summarized by maintenance (brin-summaries.ts) and by vacuum. By themselves they ask autovacuum for it at each range of pages,
-- which has room for a few hundred such requests and writes a line to the server's log for each that does not fit.
do $$
declare
  index_name regclass;
begin
  for index_name in
    select i.indexrelid from pg_index i
      join pg_inherits on inhrelid = i.indrelid
      join pg_class c on c.oid = i.indexrelid
      join pg_am a on a.oid = c.relam
     where inhparent in ('messages'::regclass, 'attempts'::regclass) and a.amname = 'brin'
  loop
    execute format('alter index %s set (autosummarize = off)', index_name);
  end loop;
end $$;
