-- Puts one entry into due, once; queueing twice is a no-op. Whether a payload may be believed is for the caller to say (believed.lua). A schedule that waits for a later time than its row says is moved: whoever
-- claims it reads the row, so that a claim too early harms nothing, while one too late loses occurrences.
-- Returns 0 beyond the horizon, 1 queued, 2 already known, 3 canceled a short while ago.
local function put(keys, entry, now)
  if entry.due >= entry.horizon then return 0 end
  local buried = redis.call('ZSCORE', keys.tomb, entry.id)
  if buried and tonumber(buried) > now then return 3 end
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
