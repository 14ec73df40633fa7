-- All tokens of administrators, locked, so that two of them do not revoke each other's at once.
select hash, expires_at from tokens where role = 'admin' order by hash for update
