// Reads schedules as clients ask for them; what fires and changes them is elsewhere.

import type { Schedule } from '../domain/schedule.js';
import type { Queryable } from './database.js';
import { scheduleFromRow, type ScheduleRow } from './schedule-row.js';

/** A tenant's schedule, or null. */
export async function getSchedule(table: Queryable, tenantId: number, id: string): Promise<Schedule | null> {
  const [row] = await table.run<ScheduleRow>('select-schedule', [tenantId, id]);
  return row === undefined ? null : scheduleFromRow(row);
}

/** A tenant's schedules in the order of their ids, after `afterId` ('' for the first), at most `limit`. */
export async function listSchedules(
  table: Queryable,
  tenantId: number,
  afterId: string,
  limit: number,
): Promise<Schedule[]> {
  const rows = await table.run<ScheduleRow>('select-schedules', [tenantId, afterId, limit]);
  return rows.map(scheduleFromRow);
}
