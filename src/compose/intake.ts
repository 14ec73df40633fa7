// Makes the intake of a node: what comes in from clients, and their cancels.

import { HORIZON_MARGIN_MS } from '../actor/sweeps/promote.js';
import { NodeIntake } from '../intake/node-intake.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import type { Offers } from '../redis/offers.js';
import type { NodePorts } from './ports.js';
import { tierBounds } from './tier-bounds.js';
import { queueTimes } from './times.js';

export function makeIntake(ports: NodePorts, recorder: Recorder, offers: Offers): NodeIntake {
  const { config, accepts, clock, time, chance, hooks, replace = {} } = ports;
  return new NodeIntake({
    database: accepts,
    recorder,
    offers: replace.intakeOffers?.(offers) ?? offers,
    clock,
    time,
    chance,
    settings: {
      shards: config.CARILLON_SHARDS,
      tiers: tierBounds(config),
      // Whatever may be due before a horizon that is completed.
      offerWithinMs: 2 * (config.CARILLON_HORIZON_MS + config.CARILLON_PROMOTE_EVERY_MS + HORIZON_MARGIN_MS),
      inlineMaxBytes: config.CARILLON_INLINE_MAX_BYTES,
      payloadFreshMs: queueTimes(config).payloadFreshMs,
      idempotencyMs: config.CARILLON_IDEMPOTENCY_MS,
    },
    onAccept: hooks.onAccept,
    onTier: hooks.onTier,
  });
}
