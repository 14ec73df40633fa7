#!lua flags=allow-oom
-- Installs the epoch that PostgreSQL granted. Does not read the shard's entries. A state that another run of Redis
-- wrote comes from disk or from its primary and may lack the last writes: its horizons are cleared, and stay cleared
-- until a sweep has completed, so that losing the answer of this script has no effect.
-- KEYS: state
-- ARGV: epoch, the run of Redis, 1 to clear the horizons, so that the shard is refilled from PostgreSQL
-- Returns {1, previous epoch or -1 when the state was missing, announced and completed horizon ms (0 when cleared)}, or
--         {0, stored epoch, 0, 0} when a newer one is installed.
local stored, announced, completed, run = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'announced', 'completed', 'run'))
if stored and tonumber(stored) > tonumber(ARGV[1]) then return {0, tonumber(stored), 0, 0} end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'run', ARGV[2])
if ARGV[3] == '1' or run ~= ARGV[2] then
  redis.call('HDEL', KEYS[1], 'announced', 'completed')
  announced, completed = nil, nil
end
return {1, tonumber(stored or -1), tonumber(announced or 0), tonumber(completed or 0)}
