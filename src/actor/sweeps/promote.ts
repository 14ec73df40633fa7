// Promote: advances the horizon and queues the messages that are due before it. In an emptied queue the horizon is
// zero, so the same sweep refills it, soonest first.
//
// No gap between accept and sweep: the sweep announces the new horizon in Redis first, then reads PostgreSQL from the
// last completed one. A client's message is committed first and then enqueued, and the enqueuer compares it with the
// announced horizon. In every interleaving one of them sees the row; queueing twice is a no-op. A sweep that fails is
// repeated from the completed horizon.

import { messageIdFloor } from '../../domain/ids.js';
import { messagesToPromote } from '../../postgres/messages/sweep-reads.js';
import { recur } from './recur.js';
import { FENCED, queueRows, type SweepParts, type Swept, type SweptShard } from './sweep.js';

/** The horizon extends this much further than it must, so that a late sweep leaves no work beyond it. */
export const HORIZON_MARGIN_MS = 60_000;

/** A horizon that an epoch announced, and the time up to which the shard's work was complete before. */
export interface Announced {
  readonly epoch: number;
  readonly horizonAtMs: number;
  readonly completedAtMs: number;
  readonly dueFromMs: number;
}

/**
 * Announces a new horizon, so that messages accepted from now on go into Redis. Returns null when the shard was fenced.
 */
export async function announce(parts: SweepParts, swept: SweptShard): Promise<Announced | null> {
  const { queue, clock, settings } = parts;
  const dueFromMs = clock.nowMs() + settings.horizonMs;
  const horizonAtMs = Math.ceil(dueFromMs + settings.promoteEveryMs + HORIZON_MARGIN_MS);
  const { announcedAtMs, completedAtMs: lastCompletedAtMs } = await queue.horizons(swept.shard);
  let completedAtMs = lastCompletedAtMs;
  if (Math.max(announcedAtMs, completedAtMs) > horizonAtMs + HORIZON_MARGIN_MS) {
    // The horizon setting was reduced, or the clock was ahead: what is due before it may never have been enqueued.
    if (!(await queue.fence(swept.shard, swept.epoch, true)).installed) return null;
    completedAtMs = 0;
  }
  if ((await queue.announce(swept.shard, swept.epoch, horizonAtMs)) !== 'done') return null;
  return { epoch: swept.epoch, horizonAtMs, completedAtMs, dueFromMs };
}

/**
 * Promotes messages and (recur) schedules up to a new horizon; `before` is a horizon that was announced already,
 * possibly by an earlier epoch.
 */
export async function promote(parts: SweepParts, swept: SweptShard, before: Announced | null = null): Promise<Swept> {
  const { queue, settings } = parts;
  const announced = before?.epoch === swept.epoch ? before : await announce(parts, swept);
  if (announced === null) return FENCED;
  const { horizonAtMs, completedAtMs, dueFromMs } = announced;
  const messages = await promoteMessages(parts, swept, completedAtMs, horizonAtMs);
  if (messages.fenced) return messages;
  const schedules = await recur(parts, swept, completedAtMs, horizonAtMs);
  if (schedules.fenced) return schedules;
  if ((await queue.complete(swept.shard, swept.epoch, horizonAtMs)) !== 'done') return FENCED;
  return {
    queued: messages.queued + schedules.queued,
    read: messages.read + schedules.read,
    fenced: false,
    // A lost or new queue is empty.
    behindMs: Math.min(Math.max(0, dueFromMs - completedAtMs), settings.horizonMs),
  };
}

async function promoteMessages(
  parts: SweepParts,
  swept: SweptShard,
  completedAtMs: number,
  horizonAtMs: number,
): Promise<Swept> {
  const { database, settings } = parts;
  const untilId = messageIdFloor(horizonAtMs);
  let fromId = messageIdFloor(completedAtMs);
  let read = 0;
  let queued = 0;
  for (;;) {
    const limit = settings.batch;
    const rows = await messagesToPromote(database, { shard: swept.shard, fromId, untilId, horizonAtMs, limit });
    const count = await queueRows(
      parts,
      swept,
      rows.map((row) => ({ ...row, payload: '' })),
    );
    if (count === null) return FENCED;
    read += rows.length;
    queued += count;
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return { queued, read, fenced: false, behindMs: 0 };
    // The last row is read again, which is cheaper than another comparison in the query.
    fromId = last.id;
    await swept.pass?.(last.dueAtMs);
  }
}
