-- When a token was last used, unless that was recorded within the last minute.
update tokens set last_used_at = :nowMs::timestamptz
 where hash = :hash and (last_used_at is null or last_used_at < :nowMs::timestamptz - interval '1 minute')
