// The times of simulated nodes: as compose makes them out of a node's settings, and as settings have them.

import { queueTimes, sweepSettings } from '../../src/compose/times.js';

/** As compose makes them out of a node's settings. */
export const QUEUE_TIMES = queueTimes({ CARILLON_REDIS_TIMEOUT_MS: 5_000, CARILLON_VISIBILITY_MS: 15_000 });
export const SWEEPS = sweepSettings({
  CARILLON_HORIZON_MS: 3_600_000,
  CARILLON_PROMOTE_EVERY_MS: 60_000,
  CARILLON_SWEEP_BATCH: 100,
});

export const TIMES = {
  leaseMs: 5_000,
  heartbeatMs: 1_000,
  joinGraceMs: 6_000,
  handoversMax: 32,
  handoverMs: 50,
  extendVisibilityMs: 5_000,
  drainMs: 5_000,
  visibilityMs: QUEUE_TIMES.visibilityMs,
  idleClaimMs: 5_000,
  rescueEveryMs: 8_000,
  promoteEveryMs: SWEEPS.promoteEveryMs,
  /** A stand-in for schedules: what a node does in PostgreSQL when it fires. */
  fireEveryMs: 700,
  redisTimeoutMs: 5_000,
  postgresTimeoutMs: 10_000,
  lockTimeoutMs: 625,
  deathsRememberedMs: 5 * 60_000,
} as const;
