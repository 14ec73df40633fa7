#!lua flags=allow-oom
-- Acquires all locks or none. A lock server that was first seen empty less than a lease ago refuses: nodes may still
-- trust locks that it lost.
-- KEYS: the locks
-- ARGV: value, ttl ms
-- Returns the number of locks acquired: all or 0.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local boot_key = string.gsub(KEYS[1], 'lease:%d+$', 'boot')
local boot = redis.call('GET', boot_key)
if not boot then
  boot = string.format('%.0f', now)
  redis.call('SET', boot_key, boot)
end
if now - tonumber(boot) < ARGV[2] * 1.01 + 2 then return 0 end
for i = 1, #KEYS do
  local holder = redis.call('GET', KEYS[i])
  if holder and holder ~= ARGV[1] then return 0 end
end
for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return #KEYS
