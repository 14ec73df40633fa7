// What the three sweeps have in common: whose shard, by which epoch, how many rows at a time, and what they give back.

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
  /** What clients sent is left alone until it is this old, twice the time that a payload is trusted (queue/shard-queue.ts). */
  readonly createdBeforeMs: number;
}

/** A shard as its actor holds it. */
export interface SweptShard {
  readonly shard: number;
  readonly epoch: number;
  readonly wake: (dueAtMs: number) => void;
  /** Asked before each batch but the first: waits while others have work that is due sooner than this. */
  readonly pass?: (dueAtMs: number) => Promise<void>;
}

export interface Swept {
  /** Rows that were put into Redis. */
  readonly queued: number;
  /** Rows that were looked at. */
  readonly read: number;
  /** True when the shard was fenced meanwhile: its next owner sweeps. */
  readonly fenced: boolean;
  /**
   * How far Redis had fallen behind, in milliseconds: promote, by how much less than the horizon it reached ahead; rescue, how late the
   * oldest work was that it brought back.
   */
  readonly behindMs: number;
}

export const FENCED: Swept = { queued: 0, read: 0, fenced: true, behindMs: 0 };

/** Queues rows that were read; null when the shard was fenced. Wakes the actor for the soonest. */
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
