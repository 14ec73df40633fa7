-- Whether payloads may be kept that were made at a time: only where no sweep can have queued, and somebody delivered, the same rows.
--   - Not while a shard is filled again that was lost, or whose completed horizon has passed, and afterwards not of rows that the filling may
--     have read: it takes rows however young they are, and they are due, while their own offers may still be on the way. A second more, for
--     the nodes' ideas of Redis's clock.
--   - Not when they come late: the other sweeps leave rows alone until they are twice as old as `fresh`.
local function believed(state_key, made, fresh, now)
  local filled = redis.call('HMGET', state_key, 'completed', 'filled')
  return filled[1] and tonumber(filled[1]) > now and made > tonumber(filled[2] or 0) + 1000 and made > now - fresh
end
