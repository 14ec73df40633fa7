#!lua flags=allow-oom
-- Removes messages from due. Adds a short-lived tombstone for each, so that nobody who read the row before the cancel
-- can queue it afterwards. The set expires with its last tombstone.
-- KEYS: due, inflight, task, tomb
-- ARGV: tombstone ms, then ids
-- Returns {1 removed, 2 in flight, 0 absent, for each id}.
--!include clock
local now = now_ms()
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
local results = {}
for i = 2, #ARGV do
  local id = ARGV[i]
  redis.call('ZADD', KEYS[4], now + tonumber(ARGV[1]), id)
  if redis.call('ZREM', KEYS[1], id) == 1 then
    redis.call('HDEL', KEYS[3], id)
    results[#results + 1] = 1
  elseif redis.call('ZSCORE', KEYS[2], id) then
    results[#results + 1] = 2
  else
    results[#results + 1] = 0
  end
end
redis.call('PEXPIRE', KEYS[4], ARGV[1])
return results
