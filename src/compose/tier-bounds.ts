// The bounds of the tiers in the settings.

import type { Config } from '../config.js';
import type { TierBounds } from '../domain/tier.js';

export function tierBounds(config: Config): TierBounds {
  return { immediateMs: config.CARILLON_IMMEDIATE_MS, horizonMs: config.CARILLON_HORIZON_MS };
}
