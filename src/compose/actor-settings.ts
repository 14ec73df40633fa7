// The settings of a node's actors.

import type { ShardActorSettings } from '../actor/actor-parts.js';
import type { Config } from '../config.js';
import { RECHECK_AFTER_MS } from '../domain/cancel-times.js';

export function actorSettings(config: Config): ShardActorSettings {
  return {
    claimBatch: config.CARILLON_CLAIM_BATCH,
    idleClaimMs: config.CARILLON_IDLE_CLAIM_MS,
    recheckAfterMs: RECHECK_AFTER_MS,
  };
}
