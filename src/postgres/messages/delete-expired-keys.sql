-- Forgets idempotency keys that expired: $1 now, $2 most rows. Gives those it forgot.
delete from idempotency_keys where (tenant_id, scope, key) in (
  select tenant_id, scope, key from idempotency_keys where expires_at <= $1 order by expires_at limit $2
  for update skip locked)
returning scope
