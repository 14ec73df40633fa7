-- Forgets idempotency keys that expired up to a time, a bounded number. Gives those it forgot.
delete from idempotency_keys where (tenant_id, scope, key) in (
  select tenant_id, scope, key
    from idempotency_keys where expires_at <= :beforeMs::timestamptz order by expires_at limit :limit
  for update skip locked)
returning scope
