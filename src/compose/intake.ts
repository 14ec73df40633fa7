// Builds the intake of a node: clients' messages, schedules and cancels.

import { HORIZON_MARGIN_MS } from '../actor/sweeps/promote.js';
import { NodeIntake } from '../intake/node-intake.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import type { Enqueuer } from '../redis/enqueuer.js';
import type { NodePorts } from './ports.js';
import { tierBounds } from './tier-bounds.js';
import { queueTimes } from './times.js';

export function makeIntake(ports: NodePorts, recorder: Recorder, enqueuer: Enqueuer): NodeIntake {
  const { config, accepts, clock, time, random, hooks, replace = {} } = ports;
  return new NodeIntake({
    database: accepts,
    recorder,
    enqueuer: replace.intakeOffers?.(enqueuer) ?? enqueuer,
    clock,
    time,
    random,
    settings: {
      shards: config.CARILLON_SHARDS,
      tiers: tierBounds(config),
      // Covers everything that may be due before a completed horizon.
      enqueueWithinMs: 2 * (config.CARILLON_HORIZON_MS + config.CARILLON_PROMOTE_EVERY_MS + HORIZON_MARGIN_MS),
      inlineMaxBytes: config.CARILLON_INLINE_MAX_BYTES,
      payloadFreshMs: queueTimes(config).payloadFreshMs,
      idempotencyMs: config.CARILLON_IDEMPOTENCY_MS,
    },
    onAccept: hooks.onAccept,
    onTier: hooks.onTier,
    onSkipped: (reasons) => hooks.onFired(0, reasons),
  });
}
