// Rescue: whatever PostgreSQL says is overdue and unfinished is offered to Redis again. What Redis knows is left as it is; what it
// lost, or never got because a node died between commit and offer, is back.
//
// Rows go in without payload, so whoever claims one reads its row first: rescuing a row whose outcome is being recorded this moment
// sends nothing twice.

import { messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { QueueEntry } from '../../redis/shard-queue.js';
import { lookUntil, releaseHeld } from '../../postgres/messages/outcomes.js';
import { type OverdueMessage, overdueMessages } from '../../postgres/messages/sweep-reads.js';
import { recur } from './recur.js';
import { FENCED, queueRows, type SweepParts, type Swept, type SweptShard } from './sweep.js';

/** Batches of one pass; the next pass goes on from where it ended, since what Redis knows may be many rows before what it lost. */
const MAX_BATCHES = 20;

/** Where the first pass begins. */
export const RESCUE_START: MessageId = messageIdFloor(0);

export interface Rescued extends Swept {
  /** The message after which the next pass is to begin. */
  readonly position: MessageId;
}

/**
 * `overdueMs`: how late work must be to count as lost; 0 right after a takeover, which looks for messages only. `position`: what the pass before gave. `takenAtMs`: when the
 * shard was taken or its epoch renewed. Whoever recorded occurrences before without queueing them is fenced since, and cannot bring a
 * payload any more; those of the present epoch may be on their way, as what clients sent may be.
 */
export async function rescue(
  parts: SweepParts,
  swept: SweptShard,
  overdueMs: number,
  position: MessageId = RESCUE_START,
  takenAtMs = 0,
): Promise<Rescued> {
  const overdueAtMs = Math.floor(parts.clock.nowMs()) - overdueMs;
  const messages = await rescueMessages(parts, swept, { overdueAtMs, position, takenAtMs });
  if (messages.fenced) return messages;
  // A schedule that was being fired is in flight in Redis, lapses there and is claimed again: a takeover need not look for it.
  if (overdueMs === 0) return messages;
  const schedules = await recur(parts, swept, 0, overdueAtMs + 1);
  if (schedules.fenced) return { ...FENCED, position };
  return { ...messages, queued: messages.queued + schedules.queued, read: messages.read + schedules.read };
}

/** From the position to what is overdue now, then from the start to the position. */
async function rescueMessages(
  parts: SweepParts,
  swept: SweptShard,
  { overdueAtMs, position, takenAtMs }: { overdueAtMs: number; position: MessageId; takenAtMs: number },
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
      occurrencesBeforeMs: takenAtMs,
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

/** Held occurrences whose predecessors ended while nobody was there to let them go. */
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
