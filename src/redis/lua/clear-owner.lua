#!lua flags=allow-oom
-- Removes a node as owner of shards where it is still recorded.
-- KEYS: owners
-- ARGV: id, shard, ...
-- Returns the number of shards that were changed.
local count = 0
for i = 2, #ARGV do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1] then count = count + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return count
