-- Lists of schedules by cursor at any size, and care of the tables that change all the time.

-- Ids are plain ASCII: compared byte by byte, one range of the primary key holds all ids that begin alike, whatever the database's collation.
alter table schedules alter column id type text collate "C";

-- What schedules are looked up by beside their ids: "host <host>" and "label <label>". They stand in a table of their own, not in indexes
-- of schedules, since every fire of a schedule makes an entry in each of those, while these change only when a schedule is edited.
create table schedule_marks (
  tenant_id integer not null,
  mark text collate "C" not null,
  schedule_id text collate "C" not null,
  primary key (tenant_id, mark, schedule_id)
);

-- The marks of a schedule. A host is its destination's, lower case, without the port; cut, since an index entry is bounded.
create function marks_of_schedule(destination text, labels text[]) returns setof text language sql immutable as $$
  select 'host ' || left(host, 255)
  from regexp_replace(lower(substring(destination from '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)')), ':[0-9]*$', '') as host
  where host is not null
  union
  select 'label ' || label from unnest(labels) as label
$$;

-- Kept by triggers, so that they agree with the schedules whoever writes these.
create function mark_new_schedules() returns trigger language plpgsql as $$
begin
  insert into schedule_marks (tenant_id, mark, schedule_id)
  select s.tenant_id, mark, s.id from new_schedules s, marks_of_schedule(s.destination, s.labels) as mark
  order by 1, 2, 3 on conflict do nothing;
  return null;
end $$;
create trigger schedules_marked after insert on schedules
  referencing new table as new_schedules for each statement execute function mark_new_schedules();

create function mark_edited_schedule() returns trigger language plpgsql as $$
begin
  delete from schedule_marks m using marks_of_schedule(old.destination, old.labels) as former (mark)
  where m.tenant_id = old.tenant_id and m.mark = former.mark and m.schedule_id = old.id;
  insert into schedule_marks (tenant_id, mark, schedule_id)
  select new.tenant_id, mark, new.id from marks_of_schedule(new.destination, new.labels) as mark on conflict do nothing;
  return null;
end $$;
-- A fire sets neither of these columns, and so costs nothing here.
create trigger schedules_remarked after update of destination, labels on schedules for each row
  when (old.destination is distinct from new.destination or old.labels is distinct from new.labels)
  execute function mark_edited_schedule();

create function unmark_schedules() returns trigger language plpgsql as $$
begin
  delete from schedule_marks m
  using (select s.tenant_id, s.id, mark from old_schedules s, marks_of_schedule(s.destination, s.labels) as mark) as gone
  where m.tenant_id = gone.tenant_id and m.mark = gone.mark and m.schedule_id = gone.id;
  return null;
end $$;
create trigger schedules_unmarked after delete on schedules
  referencing old table as old_schedules for each statement execute function unmark_schedules();

insert into schedule_marks (tenant_id, mark, schedule_id)
select s.tenant_id, mark, s.id from schedules s, marks_of_schedule(s.destination, s.labels) as mark;

-- The few that do not run. Those that do are most, and are found by walking all.
create index schedules_resting on schedules (tenant_id, state, id) where state <> 'active';

-- Room on each page for the next version of its rows, and vacuum by the number of rows that changed: a share of ten million is too many.
-- Weekly partitions are made with the same settings (partitions.ts).
alter table schedules set (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02);
alter table idempotency_keys set (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05);
alter table shards set (fillfactor = 50, autovacuum_vacuum_threshold = 200);
do $$
declare partition regclass;
begin
  for partition in select inhrelid::regclass from pg_inherits where inhparent = 'messages'::regclass loop
    execute format('alter table %s set (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, '
      'autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05)', partition);
  end loop;
end $$;
