// Rescue: queues the work again that is overdue and unfinished in PostgreSQL. Entries that Redis has stay unchanged;
// entries that it lost, or never received because a node died between commit and enqueue, are restored.
//
// Rows are queued without payload, so whoever claims one reads its row first: rescuing a row whose outcome is being
// recorded right now sends nothing twice.

import { messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { QueueEntry } from '../../redis/shard-queue.js';
import { lookUntil, releaseHeld } from '../../postgres/messages/outcomes.js';
import { type OverdueMessage, overdueMessages } from '../../postgres/messages/sweep-reads.js';
import { recur } from './recur.js';
import { FENCED, queueRows, type SweepParts, type Swept, type SweptShard } from './sweep.js';

/**
 * Batches of one pass. The next pass continues where it ended, since many rows that Redis has may precede the rows that
 * it lost.
 */
const MAX_BATCHES = 20;

/** Where the first pass starts. */
export const RESCUE_START: MessageId = messageIdFloor(0);

export interface Rescued extends Swept {
  /** The message after which the next pass starts. */
  readonly position: MessageId;
}

/**
 * Rescues work of a shard. `overdueMs`: how late work must be to count as lost; 0 right after an acquisition, which
 * looks for messages only. `position`: returned by the previous pass. `acquiredAtMs`: when the shard was acquired or
 * its epoch renewed. A node that recorded occurrences before that without queueing them is fenced by now and can no
 * longer bring a payload. Occurrences of the present epoch may be on their way, and so may clients' messages.
 */
export async function rescue(
  parts: SweepParts,
  swept: SweptShard,
  overdueMs: number,
  position: MessageId = RESCUE_START,
  acquiredAtMs = 0,
): Promise<Rescued> {
  const overdueAtMs = Math.floor(parts.clock.nowMs()) - overdueMs;
  const messages = await rescueMessages(parts, swept, { overdueAtMs, position, acquiredAtMs });
  if (messages.fenced) return messages;
  // A schedule that was being fired is in flight in Redis, expires there and is claimed again: an acquisition need not
  // look for it.
  if (overdueMs === 0) return messages;
  const schedules = await recur(parts, swept, 0, overdueAtMs + 1);
  if (schedules.fenced) return { ...FENCED, position };
  return { ...messages, queued: messages.queued + schedules.queued, read: messages.read + schedules.read };
}

/** Reads from the position to what is overdue now, then from the start to the position. */
async function rescueMessages(
  parts: SweepParts,
  swept: SweptShard,
  { overdueAtMs, position, acquiredAtMs }: { overdueAtMs: number; position: MessageId; acquiredAtMs: number },
): Promise<Rescued> {
  const { database, clock, settings } = parts;
  let afterId = position;
  let wrapped = position === RESCUE_START;
  let read = 0;
  let queued = 0;
  let behindMs = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const rows = await overdueMessages(database, {
      shard: swept.shard,
      afterId,
      untilId: wrapped && position !== RESCUE_START ? position : messageIdFloor(overdueAtMs + 1),
      overdueAtMs,
      createdBeforeMs: clock.nowMs() - settings.createdBeforeMs,
      occurrencesBeforeMs: acquiredAtMs,
      limit: settings.batch,
    });
    const free = rows.filter((row) => !row.held).map(({ id, dueAtMs }) => ({ id, dueAtMs, payload: '' }));
    const count = await queueRows(parts, swept, [...free, ...(await releaseWaiting(parts, rows))]);
    if (count === null) return { ...FENCED, position };
    read += rows.length;
    queued += count;
    if (count > 0) behindMs = Math.max(behindMs, ...rows.map(({ dueAtMs }) => clock.nowMs() - dueAtMs));
    const last = rows.at(-1);
    if (last !== undefined && rows.length === settings.batch) {
      afterId = last.id;
      await swept.pass?.(last.dueAtMs);
      continue;
    }
    if (wrapped) return { queued, read, fenced: false, behindMs, position: RESCUE_START };
    wrapped = true;
    afterId = RESCUE_START;
  }
  return { queued, read, fenced: false, behindMs, position: afterId };
}

/** Releases waiting occurrences whose predecessors ended while no node was there to release them. */
async function releaseWaiting(parts: SweepParts, rows: readonly OverdueMessage[]): Promise<QueueEntry[]> {
  const schedules = new Map(
    rows
      .filter((row) => row.held)
      .map(({ tenantId, scheduleId }) => [
        `${tenantId}\n${scheduleId ?? ''}`,
        { tenantId, scheduleId: scheduleId ?? '' },
      ]),
  );
  const released = await releaseHeld(parts.database, [...schedules.values()], lookUntil(parts.clock.nowMs()));
  return released.map(({ id, dueAtMs }) => ({ id, dueAtMs, payload: '' }));
}
