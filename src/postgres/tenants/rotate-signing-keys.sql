-- Moves the next signing key up and puts a new one behind it. $1 tenant, $2 the new key.
update signing_keys
set current_key = next_key, next_key = $2, rotated_at = now()
where tenant_id = $1
returning current_key as current, next_key as next
