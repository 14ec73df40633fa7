#!lua flags=allow-oom
-- Ends claims: out of flight and gone, or back to due at a time. Authorised by the claim token, not by the epoch: a former
-- owner that really finished must be able to say so, and can do no harm once the entry was claimed again.
-- KEYS: due, inflight, task
-- ARGV: for each entry: id, token, due ms to come back at ('' to be gone)
-- Returns {1 settled or 0 refused, for each entry}.
local results = {}
for i = 1, #ARGV, 3 do
  local id = ARGV[i]
  if redis.call('HGET', KEYS[3], id) == ARGV[i + 1] then
    redis.call('ZREM', KEYS[2], id)
    redis.call('HDEL', KEYS[3], id)
    if ARGV[i + 2] ~= '' then redis.call('ZADD', KEYS[1], ARGV[i + 2], id) end
    results[#results + 1] = 1
  else
    results[#results + 1] = 0
  end
end
return results
