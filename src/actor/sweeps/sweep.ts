// What the sweeps share: the shard, its epoch, the batch size, and the result.

import type { Clock } from '../../domain/clock.js';
import type { QueueEntry, ShardQueue } from '../../redis/shard-queue.js';
import type { Database } from '../../postgres/database.js';

export interface SweepParts {
  readonly queue: ShardQueue;
  readonly database: Database;
  readonly clock: Clock;
  readonly settings: SweepSettings;
}

export interface SweepSettings {
  readonly horizonMs: number;
  readonly promoteEveryMs: number;
  readonly batch: number;
  /**
   * Clients' rows are left alone until they are this old, twice the time for which a payload is trusted
   * (redis/shard-queue.ts).
   */
  readonly createdBeforeMs: number;
}

/** A shard and its epoch, as its actor knows them. */
export interface SweptShard {
  readonly shard: number;
  readonly epoch: number;
  readonly wake: (dueAtMs: number) => void;
  /** Called before each batch but the first: waits while other sweeps have work that is due sooner than this. */
  readonly pass?: (dueAtMs: number) => Promise<void>;
}

export interface Swept {
  /** Rows that were queued in Redis. */
  readonly queued: number;
  /** Rows that were read. */
  readonly read: number;
  /** True when the shard was fenced during the sweep: its next owner sweeps. */
  readonly fenced: boolean;
  /**
   * How far Redis had fallen behind, in milliseconds. promote: how much of the horizon it did not cover. rescue: how
   * late the oldest restored work was.
   */
  readonly behindMs: number;
}

export const FENCED: Swept = { queued: 0, read: 0, fenced: true, behindMs: 0 };

/** Queues rows; returns null when the shard was fenced. Wakes the actor for the soonest. */
export async function queueRows(
  parts: SweepParts,
  swept: SweptShard,
  entries: readonly QueueEntry[],
): Promise<number | null> {
  if (entries.length === 0) return 0;
  const reply = await parts.queue.promote(swept.shard, swept.epoch, entries);
  if (reply.kind !== 'promoted') return null;
  if (reply.earliestChanged) swept.wake(Math.min(...entries.map(({ dueAtMs }) => dueAtMs)));
  return reply.queued;
}
