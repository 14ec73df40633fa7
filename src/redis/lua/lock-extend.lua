#!lua flags=allow-oom
-- Prolongs all locks or none; makes those again that the server lost. Somebody else's lock refuses.
-- KEYS: the locks
-- ARGV: value, ttl ms
-- Returns the number of locks prolonged: all or 0.
for i = 1, #KEYS do
  local holder = redis.call('GET', KEYS[i])
  if holder and holder ~= ARGV[1] then return 0 end
end
for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return #KEYS
