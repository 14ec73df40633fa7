#!lua flags=allow-oom
-- Takes a node's name off shards, where it still stands there.
-- KEYS: owners
-- ARGV: id, shard, ...
-- Returns how many were taken off.
local count = 0
for i = 2, #ARGV do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1] then count = count + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return count
