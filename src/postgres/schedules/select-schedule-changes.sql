-- What was changed on a schedule, the latest first.
select at, generation, change, detail from schedule_changes
where tenant_id = :tenantId and schedule_id = :scheduleId
order by at desc, generation desc
limit :limit
