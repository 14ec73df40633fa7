-- Pauses or resumes: $1 tenant, $2 id, $3 state, $4 next fire, $5 now.
update schedules set state = $3, next_fire_at = $4, updated_at = $5, generation = generation + 1, error = null
where tenant_id = $1 and id = $2
returning *
