-- Moves the next signing key up and puts a new one behind it.
update signing_keys
set current_key = next_key, next_key = :next, rotated_at = now()
where tenant_id = :tenantId
returning current_key as current, next_key as next
