-- The next ids of schedules that have any of some marks (migrations/0002): parameters as in select-schedule-ids.sql, $6 marks.
-- Each mark's run of the index is read no further than the page needs.
select distinct found.schedule_id as id
from unnest($6::text[]) as wanted (mark)
cross join lateral (
  select m.schedule_id from schedule_marks m
  where m.tenant_id = $1 and m.mark = wanted.mark and m.schedule_id >= $2 and m.schedule_id > $3
    and ($4::text is null or m.schedule_id < $4)
  order by m.schedule_id
  limit $5
) found
order by 1
limit $5
