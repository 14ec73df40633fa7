// Rescue: whatever the table says is overdue and unfinished is offered to the queue again. What the queue knows is left as it is; what it
// lost, or never got because a node died between commit and offer, is back.
//
// Rows go in without payload, so whoever claims one reads its row first: rescuing a row whose outcome is being recorded this moment
// sends nothing twice.

import { messageIdFloor, type MessageId } from '../../domain/ids.js';
import { releaseNext } from '../../table/outcomes.js';
import { type OverdueMessage, overdueMessages } from '../../table/sweep-reads.js';
import { recur } from './recur.js';
import { FENCED, queueRows, type SweepParts, type Swept, type SweptShard } from './sweep.js';

/** Batches of one pass; a larger backlog is known to the queue, or is found in the next passes. */
const MAX_BATCHES = 20;

/** `overdueMs`: how late work must be to count as lost; 0 right after a takeover. */
export async function rescue(parts: SweepParts, swept: SweptShard, overdueMs: number): Promise<Swept> {
  const overdueAtMs = Math.floor(parts.clock.nowMs()) - overdueMs;
  const messages = await rescueMessages(parts, swept, overdueAtMs);
  if (messages.fenced) return messages;
  const schedules = await recur(parts, swept, 0, overdueAtMs + 1);
  if (schedules.fenced) return schedules;
  return { queued: messages.queued + schedules.queued, read: messages.read + schedules.read, fenced: false };
}

async function rescueMessages(parts: SweepParts, swept: SweptShard, overdueAtMs: number): Promise<Swept> {
  const { database, clock, settings } = parts;
  let afterId: MessageId = messageIdFloor(0);
  let read = 0;
  let queued = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const rows = await overdueMessages(database, {
      shard: swept.shard,
      afterId,
      untilId: messageIdFloor(overdueAtMs + 1),
      overdueAtMs,
      createdBeforeMs: clock.nowMs() - settings.createdBeforeMs,
      limit: settings.batch,
    });
    const free = rows.filter((row) => !row.held).map(({ id, dueAtMs }) => ({ id, dueAtMs, payload: '' }));
    const count = await queueRows(parts, swept, [...free, ...(await releaseWaiting(parts, rows))]);
    if (count === null) return FENCED;
    read += rows.length;
    queued += count;
    const last = rows.at(-1);
    if (last === undefined || rows.length < settings.batch) break;
    afterId = last.id;
  }
  return { queued, read, fenced: false };
}

/** A held occurrence whose predecessor ended while nobody was there to let it go. */
async function releaseWaiting(parts: SweepParts, rows: readonly OverdueMessage[]) {
  const schedules = new Map(
    rows
      .filter((row) => row.held)
      .map((row) => [`${row.tenantId}\n${row.scheduleId ?? ''}`, { tenantId: row.tenantId, id: row.scheduleId ?? '' }]),
  );
  const entries = [];
  for (const { tenantId, id } of schedules.values()) {
    const released = await releaseNext(parts.database, tenantId, id);
    entries.push(...released.map(({ id: message, dueAtMs }) => ({ id: message, dueAtMs, payload: '' })));
  }
  return entries;
}
