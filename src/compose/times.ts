// Times without a setting: derived from each other and from the settings. The simulation uses them too.

import type { SweepSettings } from '../actor/sweeps/sweep.js';
import type { Config } from '../config.js';
import type { QueueTimes } from '../redis/shard-queue.js';

/** Greatest age of a payload that Redis keeps. */
const PAYLOAD_FRESH_MS = 5_000;
/**
 * How long Redis keeps the tombstone of a canceled message: longer than anybody who read the row before needs to queue
 * it.
 */
const TOMBSTONE_MS = 10 * 60_000;

/** How long deaths of a name's processes are remembered. */
export const DEATHS_REMEMBERED_MS = 5 * 60_000;

/** Returns the timeout of a lock server, as a part of a lease: several must fit into the rest of the lease. */
const LOCK_ANSWER = 1 / 8;
const MIN_LOCK_ANSWER_MS = 100;

export function lockAnswerMs({ CARILLON_LEASE_MS: leaseMs }: Pick<Config, 'CARILLON_LEASE_MS'>): number {
  return Math.max(MIN_LOCK_ANSWER_MS, Math.round(leaseMs * LOCK_ANSWER));
}

/** A transaction of a running node is not idle for this long: its next statement follows at once. */
export const ABANDONED_AFTER_MS = 500;

export function queueTimes(config: Pick<Config, 'CARILLON_REDIS_TIMEOUT_MS' | 'CARILLON_VISIBILITY_MS'>): QueueTimes {
  return {
    answerMs: config.CARILLON_REDIS_TIMEOUT_MS,
    visibilityMs: config.CARILLON_VISIBILITY_MS,
    payloadFreshMs: PAYLOAD_FRESH_MS,
    tombstoneMs: TOMBSTONE_MS,
  };
}

/**
 * A client's row must be twice as old as a payload may be before a sweep queues it (redis/shard-queue.ts explains why).
 */
export function sweepSettings(
  config: Pick<Config, 'CARILLON_HORIZON_MS' | 'CARILLON_PROMOTE_EVERY_MS' | 'CARILLON_SWEEP_BATCH'>,
): SweepSettings {
  return {
    horizonMs: config.CARILLON_HORIZON_MS,
    promoteEveryMs: config.CARILLON_PROMOTE_EVERY_MS,
    batch: config.CARILLON_SWEEP_BATCH,
    createdBeforeMs: 2 * PAYLOAD_FRESH_MS,
  };
}
