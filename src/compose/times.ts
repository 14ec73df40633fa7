// The times that settings do not name: how they follow from each other and from the settings. The simulation takes its own from here.

import type { SweepSettings } from '../actor/sweeps/sweep.js';
import type { Config } from '../config.js';
import type { QueueTimes } from '../redis/shard-queue.js';

/** How old an accept may be to bring its payload to Redis. */
const PAYLOAD_FRESH_MS = 5_000;
/** How long Redis remembers that a message was canceled: longer than anybody who read the row before can take to queue it. */
const TOMBSTONE_MS = 10 * 60_000;

/** How long a name is remembered whose processes died. */
export const DEATHS_REMEMBERED_MS = 5 * 60_000;

/** A lock server's answer is waited for so long, as a part of a lease: several must fit into what is left of it. */
const LOCK_ANSWER = 1 / 8;
const MIN_LOCK_ANSWER_MS = 100;

export function lockAnswerMs({ CARILLON_LEASE_MS: leaseMs }: Pick<Config, 'CARILLON_LEASE_MS'>): number {
  return Math.max(MIN_LOCK_ANSWER_MS, Math.round(leaseMs * LOCK_ANSWER));
}

/** A transaction of a node that runs is not idle for so long: its next statement follows at once. */
export const ABANDONED_AFTER_MS = 500;

export function queueTimes(config: Pick<Config, 'CARILLON_REDIS_TIMEOUT_MS' | 'CARILLON_VISIBILITY_MS'>): QueueTimes {
  return {
    answerMs: config.CARILLON_REDIS_TIMEOUT_MS,
    visibilityMs: config.CARILLON_VISIBILITY_MS,
    payloadFreshMs: PAYLOAD_FRESH_MS,
    tombstoneMs: TOMBSTONE_MS,
  };
}

/** A client's row must be twice as old as a payload may be before a sweep queues it (queue/shard-queue.ts says why). */
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
