-- Returns whether payloads created at a time may be kept: only when no sweep can have queued the same rows and a node
-- delivered them.
--   - Not while a shard is refilled that was lost, or whose completed horizon has passed, and afterwards not for rows
--     that the refill may have read: it reads rows of any age, which are due while their own enqueues may still be on
--     the way. One second is added for the nodes' estimates of Redis's clock.
--   - Not when they arrive late: the other sweeps leave rows alone until they are twice as old as `fresh`.
local function is_fresh(state_key, created, fresh, now)
  local filled = redis.call('HMGET', state_key, 'completed', 'filled')
  return filled[1] and tonumber(filled[1]) > now and created > tonumber(filled[2] or 0) + 1000 and created > now - fresh
end
