#!lua flags=allow-oom
-- Installs the epoch that PostgreSQL granted. Reads nothing of what the shard holds.
-- A state that another run of Redis wrote came from its disk or its primary, perhaps without the last moments before: its horizons are
-- forgotten. They stay so until a sweep has completed, so that a lost answer of this script loses nothing.
-- KEYS: state
-- ARGV: epoch, the run of Redis, 1 to forget the horizons, so that the shard is filled again from PostgreSQL
-- Returns {1, previous epoch or -1 when the state was lost, announced horizon ms, completed horizon ms},
--         (0 when they are forgotten), or {0, stored epoch, 0, 0} when a newer one is installed.
local stored, announced, completed, run = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'announced', 'completed', 'run'))
if stored and tonumber(stored) > tonumber(ARGV[1]) then return {0, tonumber(stored), 0, 0} end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'run', ARGV[2])
if ARGV[3] == '1' or run ~= ARGV[2] then
  redis.call('HDEL', KEYS[1], 'announced', 'completed')
  announced, completed = nil, nil
end
return {1, tonumber(stored or -1), tonumber(announced or 0), tonumber(completed or 0)}
