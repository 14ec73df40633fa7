#!lua
-- Enqueues a batch of a sweep, fenced. Announces a horizon before PostgreSQL is read, or marks it as completed
-- afterwards.
-- KEYS: due, inflight, task, state, tomb
-- ARGV: epoch, horizon to announce ('' for none), horizon completed ('' for none), then for each entry: id, due ms,
--       payload
-- Returns {'OK', number queued, 1 when the earliest entry changed} or {'NOFENCE' | 'STALE', 0, 0}.
--!include clock
--!include fence
--!include put
-- Payloads are fresh for seconds, and a sweep that is on time finds more than this left of the horizon.
local SOON_MS = 60000
local refusal = refused(KEYS[4], ARGV[1])
if refusal then return {refusal, 0, 0} end
if ARGV[2] ~= '' and tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[4], 'announced') or 0) then
  redis.call('HSET', KEYS[4], 'announced', ARGV[2])
end
-- Redis has room, or it would have refused this script (fire.lua).
redis.call('HDEL', KEYS[4], 'over')
local now = now_ms()
local keys = {due = KEYS[1], inflight = KEYS[2], task = KEYS[3], tomb = KEYS[5]}
local horizon = tonumber(redis.call('HGET', KEYS[4], 'announced') or 0)
local before = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local queued = 0
for i = 4, #ARGV, 3 do
  local due = tonumber(ARGV[i + 1])
  local code = put(keys, { id = ARGV[i], due = due, payload = due > now and ARGV[i + 2] or '', horizon = horizon }, now)
  if code == 1 then queued = queued + 1 end
end
if ARGV[3] ~= '' then
  -- The rows of this sweep may be due already, or soon: only payloads created from now on are fresh again (fresh.lua).
  if tonumber(redis.call('HGET', KEYS[4], 'completed') or 0) < now + SOON_MS then redis.call('HSET', KEYS[4], 'filled', now) end
  redis.call('HSET', KEYS[4], 'completed', ARGV[3])
end
local after = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local moved = before[1] ~= after[1] or before[2] ~= after[2]
return {'OK', queued, moved and 1 or 0}
