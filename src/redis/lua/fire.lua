#!lua
-- One atomic step for a claimed schedule whose occurrences PostgreSQL has recorded: queues their messages, and the
-- schedule itself for its next time. A schedule that was changed while in flight (reschedule.lua) is queued for the
-- earlier of the two times, since whoever claims it reads its row: a claim too early is harmless. A full Redis refuses
-- this script. It is then run again under the flag allow-oom and with a limit, since a few more entries are better than
-- a schedule that stops: at most this many messages are queued, without payloads, until a sweep has room again
-- (promote.lua).
-- KEYS: due, inflight, task, state, tomb
-- ARGV: epoch, fresh ms, ms when the oldest payload was created, messages that a full queue may accept or -1 when it is
--       not full, then for each schedule: its entry id, claim token, next due ms ('' for none), generation, number of
--       messages, and for each message: id, due ms, payload
-- Returns {'OK', number of messages without room, 1 when the claim was still valid or 0, for each schedule} or
--         {'NOFENCE' | 'STALE'}.
--!include clock
--!include fence
--!include fresh
--!include put
local refusal = refused(KEYS[4], ARGV[1])
if refusal then return {refusal} end
local now = now_ms()
local keys = {due = KEYS[1], inflight = KEYS[2], task = KEYS[3], tomb = KEYS[5]}
local horizon = tonumber(redis.call('HGET', KEYS[4], 'announced') or 0)
local limit = tonumber(ARGV[4])
local over = limit < 0 and 0 or tonumber(redis.call('HGET', KEYS[4], 'over') or 0)
local without_room = 0
local reply = {'OK', 0}
local keep = is_fresh(KEYS[4], tonumber(ARGV[3]), tonumber(ARGV[2]), now)
local i = 5
while i <= #ARGV do
  local entry, token, next_due, generation, count = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4])
  i = i + 5
  for _ = 1, count do
    if limit >= 0 and over >= limit then
      without_room = without_room + 1
    else
      local code = put(keys, {
        id = ARGV[i], due = tonumber(ARGV[i + 1]), payload = keep and limit < 0 and ARGV[i + 2] or '', horizon = horizon,
      }, now)
      if limit >= 0 and code == 1 then over = over + 1 end
    end
    i = i + 3
  end
  local is_valid = redis.call('HGET', KEYS[3], entry) == token
  if is_valid then
    local noted = redis.call('HGET', KEYS[3], 'moved:' .. entry)
    redis.call('ZREM', KEYS[2], entry)
    redis.call('HDEL', KEYS[3], entry, 'moved:' .. entry)
    if noted then
      local noted_generation, noted_due = noted:match('^(%d+) (%d*)$')
      if noted_generation ~= generation then
        generation = noted_generation
        if next_due == '' or (noted_due ~= '' and tonumber(noted_due) < tonumber(next_due)) then next_due = noted_due end
      end
    end
    if next_due ~= '' and tonumber(next_due) < horizon then
      redis.call('ZADD', KEYS[1], next_due, entry)
      redis.call('HSET', KEYS[3], entry, generation)
    end
  end
  reply[#reply + 1] = is_valid and 1 or 0
end
if limit >= 0 then redis.call('HSET', KEYS[4], 'over', over) end
reply[2] = without_room
return reply
