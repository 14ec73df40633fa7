#!lua flags=allow-oom
-- Installs the epoch that the table granted. Reads nothing of what the shard holds.
-- KEYS: state
-- ARGV: epoch, 1 to forget the horizons, so that the shard is filled again from the table
-- Returns {1, previous epoch or -1 when the state was lost, announced horizon ms, completed horizon ms},
--         or {0, stored epoch, 0, 0} when a newer one is installed.
local stored, announced, completed = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'announced', 'completed'))
if stored and tonumber(stored) > tonumber(ARGV[1]) then return {0, tonumber(stored), 0, 0} end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
if ARGV[2] == '1' then
  redis.call('HDEL', KEYS[1], 'announced', 'completed')
  announced, completed = nil, nil
end
return {1, tonumber(stored or -1), tonumber(announced or 0), tonumber(completed or 0)}
