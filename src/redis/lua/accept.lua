#!lua
-- Enqueues work that was just committed to PostgreSQL. Needs no epoch: it decides nothing, and PostgreSQL has the work.
-- Payloads that are not fresh are dropped (include/fresh.lua).
-- KEYS: due, inflight, task, state, tomb
-- ARGV: fresh ms, ms when the oldest payload was created, then for each entry: id, due ms, payload ('' for none)
-- Returns {1 when the earliest entry changed, a code for each entry (include/put.lua)}.
--!include clock
--!include fresh
--!include put
local now = now_ms()
local keys = {due = KEYS[1], inflight = KEYS[2], task = KEYS[3], tomb = KEYS[5]}
local horizon = tonumber(redis.call('HGET', KEYS[4], 'announced') or 0)
local before = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
local codes = {0}
local keep = is_fresh(KEYS[4], tonumber(ARGV[2]), tonumber(ARGV[1]), now)
for i = 3, #ARGV, 3 do
  codes[#codes + 1] = put(keys, {
    id = ARGV[i], due = tonumber(ARGV[i + 1]), payload = keep and ARGV[i + 2] or '', horizon = horizon,
  }, now)
end
if redis.call('ZRANGE', KEYS[1], 0, 0)[1] ~= before then codes[1] = 1 end
return codes
