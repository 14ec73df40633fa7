#!lua flags=allow-oom
-- Ends claims: removes their entries, or returns them to due for a later time. Authorized by the claim token, not by
-- the epoch: a former owner that finished must be able to settle, and cannot affect an entry that was claimed again. An
-- entry that returns without having been sent may keep its payload: only the owner of the token could have sent it. An
-- entry that was canceled meanwhile loses it, since the cancel found it in flight and only its row says so.
-- KEYS: due, inflight, task, tomb
-- ARGV: for each entry: id, token, due ms to return at ('' to remove it), payload ('' for none)
-- Returns {1 settled or 0 refused, for each entry}.
local results = {}
for i = 1, #ARGV, 4 do
  local id = ARGV[i]
  if redis.call('HGET', KEYS[3], id) == ARGV[i + 1] then
    redis.call('ZREM', KEYS[2], id)
    redis.call('HDEL', KEYS[3], id)
    if ARGV[i + 2] ~= '' then redis.call('ZADD', KEYS[1], ARGV[i + 2], id) end
    if ARGV[i + 3] ~= '' and not redis.call('ZSCORE', KEYS[4], id) then redis.call('HSET', KEYS[3], id, ARGV[i + 3]) end
    results[#results + 1] = 1
  else
    results[#results + 1] = 0
  end
end
return results
