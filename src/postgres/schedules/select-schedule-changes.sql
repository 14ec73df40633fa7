-- What was changed on a schedule, the latest first. $1 tenant, $2 schedule, $3 at most so many.
select at, generation, change, detail from schedule_changes
where tenant_id = $1 and schedule_id = $2
order by at desc, generation desc
limit $3
