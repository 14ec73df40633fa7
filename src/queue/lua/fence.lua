#!lua flags=allow-oom
-- Installs the epoch that the table granted. Reads nothing of what the shard holds.
-- A state that another run of Redis wrote came from its disk or its primary, perhaps without the last moments before: its horizons are
-- forgotten. They stay so until a sweep has completed, so that a lost answer of this script loses nothing.
-- KEYS: state
-- ARGV: epoch, 1 to forget the horizons, so that the shard is filled again from the table
-- Returns {1, previous epoch or -1 when the state was lost, announced horizon ms, completed horizon ms},
--         (0 when they are forgotten), or {0, stored epoch, 0, 0} when a newer one is installed.
local stored, announced, completed = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'announced', 'completed'))
if stored and tonumber(stored) > tonumber(ARGV[1]) then return {0, tonumber(stored), 0, 0} end
local info = redis.call('INFO', 'server', 'replication')
-- A replica that is promoted keeps its process and begins another history.
local run = (info:match('run_id:(%w+)') or '') .. '/' .. (info:match('master_replid:(%w+)') or '')
local is_same_run = redis.call('HGET', KEYS[1], 'run') == run
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'run', run)
if ARGV[2] == '1' or not is_same_run then
  redis.call('HDEL', KEYS[1], 'announced', 'completed')
  announced, completed = nil, nil
end
return {1, tonumber(stored or -1), tonumber(announced or 0), tonumber(completed or 0)}
