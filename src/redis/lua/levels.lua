#!lua flags=no-writes
-- Counts the entries in a shard's queue, for the console and metrics. Read only.
-- KEYS: due, inflight, state
-- ARGV: none
-- Returns {epoch, entries that are due, entries in due, entries in flight, ms by which the earliest is late,
--         announced horizon ms, completed horizon ms}.
--!include clock
local now = now_ms()
local earliest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local state = redis.call('HMGET', KEYS[3], 'epoch', 'announced', 'completed')
return {
  tonumber(state[1] or 0),
  redis.call('ZCOUNT', KEYS[1], '-inf', now),
  redis.call('ZCARD', KEYS[1]),
  redis.call('ZCARD', KEYS[2]),
  earliest and math.max(0, now - math.floor(tonumber(earliest))) or 0,
  tonumber(state[2] or 0),
  tonumber(state[3] or 0),
}
