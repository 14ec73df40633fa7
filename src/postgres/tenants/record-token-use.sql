-- When a token was last used, unless that was recorded within the last minute. $1 SHA-256, $2 now.
update tokens set last_used_at = $2::timestamptz
 where hash = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute')
