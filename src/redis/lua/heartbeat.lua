#!lua flags=allow-oom
-- A node's heartbeat: registers the node, writes its shards, removes nodes without a heartbeat for a lease, and reads
-- the roster.
-- KEYS: members, about, owners, deaths
-- ARGV: id, facts about the node, lease ms, ms for which deaths are remembered, shard, ...
-- Returns {now ms, {id, ms of last heartbeat, ...}, {id, about, ...}, {shard, id, ...}, {id, died ms, ...}}.
--!include clock
local now = now_ms()
local id = ARGV[1]
local dead = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - ARGV[3]), 'LIMIT', 0, 100)
for _, member in ipairs(dead) do
  redis.call('ZADD', KEYS[4], now, member)
  redis.call('ZREM', KEYS[1], member)
  redis.call('HDEL', KEYS[2], member)
end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now - ARGV[4])
redis.call('ZREM', KEYS[4], id)
redis.call('ZADD', KEYS[1], now, id)
redis.call('HSET', KEYS[2], id, ARGV[2])
local mine = {}
for i = 5, #ARGV do
  mine[ARGV[i]] = true
  redis.call('HSET', KEYS[3], ARGV[i], id)
end
local owners = redis.call('HGETALL', KEYS[3])
local current = {}
for i = 1, #owners, 2 do
  -- No node would acquire a shard that the roster assigns to this node although it does not own it.
  if owners[i + 1] == id and not mine[owners[i]] then
    redis.call('HDEL', KEYS[3], owners[i])
  else
    current[#current + 1] = owners[i]
    current[#current + 1] = owners[i + 1]
  end
end
return {
  now,
  redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'),
  redis.call('HGETALL', KEYS[2]),
  current,
  redis.call('ZRANGE', KEYS[4], 0, -1, 'WITHSCORES'),
}
