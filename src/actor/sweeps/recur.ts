// Recur: the step of promote that queues schedules whose next fire time is before the new horizon.

import { scheduleEntry } from '../../redis/keys.js';
import { type SchedulePosition, schedulesToPromote } from '../../postgres/messages/sweep-reads.js';
import { FENCED, queueRows, type SweepParts, type Swept, type SweptShard } from './sweep.js';

export async function recur(parts: SweepParts, swept: SweptShard, fromMs: number, untilMs: number): Promise<Swept> {
  const { database, settings } = parts;
  let after: SchedulePosition = { atMs: fromMs, tenantId: 0, id: '' };
  let read = 0;
  let queued = 0;
  for (;;) {
    const rows = await schedulesToPromote(database, { shard: swept.shard, after, untilMs, limit: settings.batch });
    const entries = rows.map((row) => ({
      id: scheduleEntry(row.tenantId, row.id),
      dueAtMs: row.nextFireAtMs,
      payload: String(row.generation),
    }));
    const count = await queueRows(parts, swept, entries);
    if (count === null) return FENCED;
    read += rows.length;
    queued += count;
    const last = rows.at(-1);
    if (last === undefined || rows.length < settings.batch) return { queued, read, fenced: false, behindMs: 0 };
    after = { atMs: last.nextFireAtMs, tenantId: last.tenantId, id: last.id };
    await swept.pass?.(last.nextFireAtMs);
  }
}
