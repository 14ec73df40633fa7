#!lua flags=allow-oom
-- Gives up those locks that are the caller's. One that is gone already is released.
-- KEYS: the locks
-- ARGV: value
-- Returns the number of locks.
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end
end
return #KEYS
