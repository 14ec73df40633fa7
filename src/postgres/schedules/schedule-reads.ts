// Reads schedules as clients ask for them; what fires and changes them is elsewhere.

import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { MessageState } from '../../domain/message.js';
import type { Schedule } from '../../domain/schedule.js';
import type { Queryable } from '../database.js';
import { scheduleFromRow } from './schedule-row.js';

/** A tenant's schedule, or null. */
export async function getSchedule(table: Queryable, tenantId: number, id: string): Promise<Schedule | null> {
  const [row] = await table.run('select-schedule', { tenantId, id });
  return row === undefined ? null : scheduleFromRow(row);
}

/** How the latest runs of a schedule stand, newest first. */
export type RunStates = readonly { readonly id: MessageId; readonly state: MessageState }[];

/** Runs are looked for this far back from the last firing, so that a look-up stays within a few weekly partitions. */
const LOOK_BACK_MS = 7 * 86_400_000;
/** Manual runs lie off the grid, and clocks differ a little. */
const LOOK_AHEAD_MS = 3_600_000;

/** The latest `limit` runs of each of the schedules (of one tenant), by schedule id. Schedules that never fired have none. */
export async function latestRunStates(
  table: Queryable,
  tenantId: number,
  schedules: readonly Schedule[],
  limit: number,
): Promise<ReadonlyMap<string, RunStates>> {
  const states = new Map<string, { id: MessageId; state: MessageState }[]>();
  const ranges = schedules.flatMap((schedule) => {
    const { lastFireAtMs, delayMs, windowMs } = schedule;
    if (lastFireAtMs === null) return [];
    const untilMs = lastFireAtMs + delayMs + windowMs + LOOK_AHEAD_MS;
    return [{ id: schedule.id, from: messageIdFloor(lastFireAtMs - LOOK_BACK_MS), until: messageIdFloor(untilMs) }];
  });
  if (ranges.length === 0) return states;
  const rows = await table.run('select-schedule-states', {
    tenantId,
    scheduleIds: ranges.map((range) => range.id),
    fromIds: ranges.map((range) => range.from),
    untilIds: ranges.map((range) => range.until),
    limit,
  });
  for (const row of rows) {
    const of = states.get(row.schedule_id) ?? [];
    of.push({ id: fromUuid(row.id), state: row.state });
    states.set(row.schedule_id, of);
  }
  return states;
}
