-- Refuses a caller whose epoch is not the shard's current one. An absent epoch means that Redis was lost: refused too,
-- never taken for free. A newer epoch than the stored one heals a failover that lost the fence.
-- Returns nil when the caller may go on, else 'NOFENCE' or 'STALE'.
local function refused(state_key, epoch)
  local stored = redis.call('HGET', state_key, 'epoch')
  if not stored then return 'NOFENCE' end
  if tonumber(epoch) < tonumber(stored) then return 'STALE' end
  if tonumber(epoch) > tonumber(stored) then redis.call('HSET', state_key, 'epoch', epoch) end
  return nil
end
