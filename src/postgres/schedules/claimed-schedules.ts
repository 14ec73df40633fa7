// Reads the schedules that claims brought, with what their overlap policies need to know.

import type { Schedule } from '../../domain/schedule.js';
import type { Queryable, Row } from '../database.js';
import { lookUntil } from '../messages/outcomes.js';
import { scheduleFromRow } from './schedule-row.js';

export interface ScheduleKey {
  readonly tenantId: number;
  readonly id: string;
}

/** A schedule that a claim brought, and what its overlap policy needs to know. */
export interface ClaimedSchedule {
  readonly schedule: Schedule;
  /** Whether an occurrence before is under way or waits. Always false under the policy "allow". */
  readonly underWay: boolean;
  /** Occurrences that wait (policy "queue"). */
  readonly waiting: number;
}

/** In the order of the keys; null where there is no such schedule. */
export async function readClaimedSchedules(
  table: Queryable,
  nowMs: number,
  keys: readonly ScheduleKey[],
): Promise<(ClaimedSchedule | null)[]> {
  const rows = await table.run('select-schedules-to-fire', columns(keys));
  const schedules = new Map(rows.map((row) => [nameOf(row.tenant_id, row.id), scheduleFromRow(row)]));
  const limited = [...schedules.values()].filter((schedule) => schedule.overlap !== 'allow');
  const underWay = await readUnderWay(table, nowMs, limited);
  return keys.map(({ tenantId, id }) => {
    const schedule = schedules.get(nameOf(tenantId, id));
    if (schedule === undefined) return null;
    const before = underWay.get(nameOf(tenantId, id));
    const waiting = schedule.overlap === 'queue' ? (before?.waiting ?? 0) : 0;
    return { schedule, underWay: before !== undefined, waiting };
  });
}

async function readUnderWay(
  table: Queryable,
  nowMs: number,
  schedules: readonly Schedule[],
): Promise<Map<string, Row<'select-under-way'>>> {
  if (schedules.length === 0) return new Map();
  // Their occurrences up to now are due by then.
  const latestMs = nowMs + Math.max(...schedules.map(({ delayMs, windowMs }) => delayMs + windowMs));
  const rows = await table.run('select-under-way', { ...columns(schedules), untilId: lookUntil(latestMs) });
  return new Map(rows.map((row) => [nameOf(row.tenant_id, row.id), row]));
}

function columns(keys: readonly ScheduleKey[]): { tenantIds: number[]; ids: string[] } {
  return { tenantIds: keys.map(({ tenantId }) => tenantId), ids: keys.map(({ id }) => id) };
}

function nameOf(tenantId: number, id: string): string {
  return `${tenantId}\n${id}`;
}
