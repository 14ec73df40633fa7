#!lua flags=allow-oom
-- Claims due work: first returns expired claims to due, then moves due entries into flight. The entry of an expired
-- claim may have been sent: its payload is dropped, so that whoever claims it must read PostgreSQL. A claim that
-- arrives after its caller stopped waiting (the server was frozen, or the network slow) claims nothing: nobody would
-- deliver the entries, and they would be late by the visibility.
-- KEYS: due, inflight, task, state
-- ARGV: epoch, limit, visibility ms, ms by this server's clock until which the caller waits for the answer
-- Returns {'OK', now ms, ms of the next due entry or -1, ms when the next claim expires or -1, id, token, payload or
--         '', due ms, ...} or {'NOFENCE' | 'STALE'}, or {'LATE', now ms} when the caller no longer waits for the
--         answer.
--!include clock
--!include fence
local refusal = refused(KEYS[4], ARGV[1])
if refusal then return {refusal} end
local now = now_ms()
if now > tonumber(ARGV[4]) then return {'LATE', now} end
local limit = tonumber(ARGV[2])
local expired = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, limit)
if #expired > 0 then
  redis.call('ZREM', KEYS[2], unpack(expired))
  redis.call('HDEL', KEYS[3], unpack(expired))
  local back = {}
  for i, id in ipairs(expired) do
    back[2 * i - 1] = now
    back[2 * i] = id
  end
  redis.call('ZADD', KEYS[1], unpack(back))
end
local reply = {'OK', now, -1, -1}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit)
if #due > 0 then
  local ids, in_flight, tokens = {}, {}, {}
  local claim = ARGV[1] .. '.' .. redis.call('HINCRBY', KEYS[4], 'claims', 1) .. '.'
  for i = 1, #due, 2 do ids[#ids + 1] = due[i] end
  local payloads = redis.call('HMGET', KEYS[3], unpack(ids))
  local until_ms = now + tonumber(ARGV[3])
  for n, id in ipairs(ids) do
    local token = claim .. n
    in_flight[2 * n - 1] = until_ms
    in_flight[2 * n] = id
    tokens[2 * n - 1] = id
    tokens[2 * n] = token
    local at = #reply
    reply[at + 1] = id
    reply[at + 2] = token
    reply[at + 3] = payloads[n] or ''
    reply[at + 4] = due[2 * n]
  end
  redis.call('ZREM', KEYS[1], unpack(ids))
  redis.call('ZADD', KEYS[2], unpack(in_flight))
  redis.call('HSET', KEYS[3], unpack(tokens))
end
local next_due = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if next_due[2] then reply[3] = tonumber(next_due[2]) end
local next_expiry = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if next_expiry[2] then reply[4] = tonumber(next_expiry[2]) end
return reply
