#!lua
-- One atomic step for a claimed schedule whose occurrences the table has recorded: their messages in, and the schedule itself
-- in again at its next time.
-- KEYS: due, inflight, task, state, tomb
-- ARGV: epoch, fresh ms, then for each schedule: its entry id, claim token, next due ms ('' for none), generation,
--       number of messages, and for each message: id, due ms, payload
-- Returns {'OK', 1 when the claim still held or 0, for each schedule} or {'NOFENCE' | 'STALE'}.
--!include clock
--!include fence
--!include put
local refusal = refused(KEYS[4], ARGV[1])
if refusal then return {refusal} end
local now = now_ms()
local keys = {due = KEYS[1], inflight = KEYS[2], task = KEYS[3], tomb = KEYS[5]}
local horizon = tonumber(redis.call('HGET', KEYS[4], 'announced') or 0)
local reply = {'OK'}
local i = 3
while i <= #ARGV do
  local entry, token, next_due, generation, count = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4])
  i = i + 5
  for _ = 1, count do
    put(keys, {
      id = ARGV[i], due = tonumber(ARGV[i + 1]), payload = ARGV[i + 2], horizon = horizon, fresh = tonumber(ARGV[2]),
    }, now)
    i = i + 3
  end
  local held = redis.call('HGET', KEYS[3], entry) == token
  if held then
    redis.call('ZREM', KEYS[2], entry)
    redis.call('HDEL', KEYS[3], entry)
    if next_due ~= '' and tonumber(next_due) < horizon then
      redis.call('ZADD', KEYS[1], next_due, entry)
      redis.call('HSET', KEYS[3], entry, generation)
    end
  end
  reply[#reply + 1] = held and 1 or 0
end
return reply
