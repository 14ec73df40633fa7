#!lua
-- Moves the entry of a schedule that was saved, resumed, paused or deleted. Of two changes the later generation wins,
-- in any order of arrival. The entry of a schedule in flight does not move, but the node that fires it may have read
-- the row before the change: the new time is noted, and fire.lua considers it.
-- KEYS: due, inflight, task, state
-- ARGV: entry id, due ms ('' to remove it), generation
-- Returns {code, 1 when the earliest entry changed}; codes: 0 removed or beyond the horizon, 1 queued, 2 in flight, 3 a
--         newer generation is known.
local entry, due, generation = ARGV[1], ARGV[2], ARGV[3]
if redis.call('ZSCORE', KEYS[2], entry) then
  local noted = redis.call('HGET', KEYS[3], 'moved:' .. entry)
  -- The time of the later generation stays, but a removal never overrides a time.
  if not noted or noted:match('^%d+ $') or tonumber(noted:match('^%d+')) <= tonumber(generation) then
    redis.call('HSET', KEYS[3], 'moved:' .. entry, generation .. ' ' .. due)
  end
  return {2, 0}
end
local known = tonumber(redis.call('HGET', KEYS[3], entry) or 0)
if known > tonumber(generation) then return {3, 0} end
local horizon = tonumber(redis.call('HGET', KEYS[4], 'announced') or 0)
if due == '' or tonumber(due) >= horizon then
  redis.call('ZREM', KEYS[1], entry)
  redis.call('HDEL', KEYS[3], entry)
  return {0, 0}
end
local before = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('ZADD', KEYS[1], due, entry)
redis.call('HSET', KEYS[3], entry, generation)
local after = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local moved = before[1] ~= after[1] or before[2] ~= after[2]
return {1, moved and 1 or 0}
