// The settings of simulated nodes, and the times that follow from them: by compose, as for any node.

import { DEATHS_REMEMBERED_MS, lockAnswerMs, queueTimes, sweepSettings } from '../../src/compose/times.js';
import { type Config, configWith } from '../../src/config.js';

const SETTINGS: Partial<Config> = {
  CARILLON_LEASE_MS: 5_000,
  CARILLON_HEARTBEAT_MS: 1_000,
  CARILLON_JOIN_GRACE_MS: 6_000,
  CARILLON_HANDOVERS_MAX: 32,
  CARILLON_HANDOVER_MS: 50,
  CARILLON_TOUCH_MS: 5_000,
  CARILLON_DRAIN_MS: 5_000,
  CARILLON_VISIBILITY_MS: 15_000,
  CARILLON_IDLE_CLAIM_MS: 5_000,
  CARILLON_RESCUE_EVERY_MS: 8_000,
  CARILLON_PROMOTE_EVERY_MS: 60_000,
  CARILLON_HORIZON_MS: 3_600_000,
  CARILLON_SWEEP_BATCH: 100,
  CARILLON_REDIS_TIMEOUT_MS: 5_000,
  CARILLON_DATABASE_TIMEOUT_MS: 10_000,
  CARILLON_IDEMPOTENCY_MS: 20_000,
  CARILLON_DEDUPLICATION_MS: 60_000,
  CARILLON_INLINE_MAX_BYTES: 1_000,
  CARILLON_CONCURRENCY: 200,
  CARILLON_TENANT_CONCURRENCY: 200,
  CARILLON_HOST_CONCURRENCY: 100,
  CARILLON_CLAIM_BATCH: 20,
  CARILLON_RETRY_DELAY_MIN_MS: 0,
  // Short, so that what goes wrong for a while makes occurrences late and lets them pile up.
  CARILLON_MISFIRE_GRACE_MS: 3_000,
  CARILLON_OVERLAP_QUEUE_MAX: 3,
  CARILLON_FIRE_BATCH: 5,
};

/** The settings of a node of a cluster with so many shards. */
export function settingsOf(name: string, shards: number, changes: Partial<Config> = {}): Config {
  return configWith({ ...SETTINGS, ...changes, CARILLON_NODE_NAME: name, CARILLON_SHARDS: shards });
}

const CONFIG = settingsOf('any', 1);
const QUEUE_TIMES = queueTimes(CONFIG);

export const TIMES = {
  leaseMs: CONFIG.CARILLON_LEASE_MS,
  heartbeatMs: CONFIG.CARILLON_HEARTBEAT_MS,
  joinGraceMs: CONFIG.CARILLON_JOIN_GRACE_MS,
  handoversMax: CONFIG.CARILLON_HANDOVERS_MAX,
  handoverMs: CONFIG.CARILLON_HANDOVER_MS,
  drainMs: CONFIG.CARILLON_DRAIN_MS,
  visibilityMs: QUEUE_TIMES.visibilityMs,
  promoteEveryMs: sweepSettings(CONFIG).promoteEveryMs,
  redisTimeoutMs: CONFIG.CARILLON_REDIS_TIMEOUT_MS,
  postgresTimeoutMs: CONFIG.CARILLON_DATABASE_TIMEOUT_MS,
  lockTimeoutMs: lockAnswerMs(CONFIG),
  deathsRememberedMs: DEATHS_REMEMBERED_MS,
  inlineMaxBytes: CONFIG.CARILLON_INLINE_MAX_BYTES,
  misfireGraceMs: CONFIG.CARILLON_MISFIRE_GRACE_MS,
  idempotencyMs: CONFIG.CARILLON_IDEMPOTENCY_MS,
  waitingMax: CONFIG.CARILLON_OVERLAP_QUEUE_MAX,
} as const;
