-- Refuses a caller whose epoch is not the shard's current one. A missing epoch means that Redis lost its data: refused
-- too, never treated as free. A newer epoch than the stored one repairs a failover that lost the fence.
-- Returns nil when the caller may continue, else 'NOFENCE' or 'STALE'.
local function refused(state_key, epoch)
  local stored = redis.call('HGET', state_key, 'epoch')
  if not stored then return 'NOFENCE' end
  if tonumber(epoch) < tonumber(stored) then return 'STALE' end
  if tonumber(epoch) > tonumber(stored) then redis.call('HSET', state_key, 'epoch', epoch) end
  return nil
end
