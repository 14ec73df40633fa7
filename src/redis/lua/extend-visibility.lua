#!lua flags=allow-oom
-- Extends the visibility of claims in progress. Authorized by the claim token.
-- KEYS: inflight, task
-- ARGV: visibility ms, then for each entry: id, token
-- Returns {1 extended or 0 refused, for each entry}.
--!include clock
local until_ms = now_ms() + tonumber(ARGV[1])
local results = {}
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[i + 1] then
    redis.call('ZADD', KEYS[1], 'XX', until_ms, ARGV[i])
    results[#results + 1] = 1
  else
    results[#results + 1] = 0
  end
end
return results
