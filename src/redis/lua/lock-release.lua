#!lua flags=allow-oom
-- Releases the caller's locks. A missing lock counts as released.
-- KEYS: the locks
-- ARGV: value
-- Returns the number of locks.
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end
end
return #KEYS
