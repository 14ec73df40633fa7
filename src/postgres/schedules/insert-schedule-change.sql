-- Logs a change: $1 tenant, $2 schedule, $3 time, $4 generation, $5 change, $6 detail.
insert into schedule_changes (tenant_id, schedule_id, at, generation, change, detail) values ($1, $2, $3, $4, $5, $6)
