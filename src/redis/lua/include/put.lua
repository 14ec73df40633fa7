-- Puts one entry into due, once; queueing twice is a no-op. The caller decides whether the payload is kept (fresh.lua).
-- A schedule's entry that waits for a later time than its row has is moved: whoever claims it reads the row, so a claim
-- too early is harmless, while one too late loses occurrences.
-- Returns 0 beyond the horizon, 1 queued, 2 already known, 3 canceled recently.
local function put(keys, entry, now)
  if entry.due >= entry.horizon then return 0 end
  local tombstone_until = redis.call('ZSCORE', keys.tomb, entry.id)
  if tombstone_until and tonumber(tombstone_until) > now then return 3 end
  if redis.call('ZSCORE', keys.inflight, entry.id) then return 2 end
  if redis.call('ZADD', keys.due, 'NX', entry.due, entry.id) == 0 then
    if string.sub(entry.id, 1, 2) == 's:' then redis.call('ZADD', keys.due, 'LT', entry.due, entry.id) end
    return 2
  end
  if entry.payload ~= '' then
    redis.call('HSET', keys.task, entry.id, entry.payload)
  end
  return 1
end
