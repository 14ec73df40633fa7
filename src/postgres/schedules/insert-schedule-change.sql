-- Logs a change of a schedule.
--!type :change ScheduleChange['change']
insert into schedule_changes (tenant_id, schedule_id, at, generation, change, detail) values (:tenantId, :scheduleId,
  :atMs::timestamptz, :generation, :change, :detail)
