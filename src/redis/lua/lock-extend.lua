#!lua flags=allow-oom
-- Extends all locks or none; creates those again that the server lost. Refuses when another node has one of them.
-- KEYS: the locks
-- ARGV: value, ttl ms
-- Returns the number of locks extended: all or 0.
for i = 1, #KEYS do
  local holder = redis.call('GET', KEYS[i])
  if holder and holder ~= ARGV[1] then return 0 end
end
for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return #KEYS
