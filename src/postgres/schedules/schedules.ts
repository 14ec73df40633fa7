// Changes to schedules: saving, pausing, resuming, deleting; each with a line in the change log, and with records of the occurrences that
// were due and are not fired any more.

import { passedOver } from '../../domain/passed-over.js';
import type { NextState } from '../../domain/schedule-change.js';
import { sameDefinition } from '../../domain/schedule-change.js';
import type { Schedule, ScheduleDefinition } from '../../domain/schedule.js';
import type { Database, Queryable } from '../database.js';
import { toDeliveryOptions } from '../messages/delivery-options.js';
import { timestamp } from '../messages/message-columns.js';
import { changeSchedules, type OnSkipped, type RecordPassedOver } from './passed-over.js';
import { scheduleFromRow, type ScheduleRow } from './schedule-row.js';

export interface ScheduleToSave {
  readonly tenantId: number;
  readonly id: string;
  readonly shard: number;
  readonly definition: ScheduleDefinition;
}

export interface Saved {
  readonly schedule: Schedule;
  readonly changed: boolean;
}

/**
 * Creates or replaces a schedule. `decide` tells the state from what is there; it may throw to refuse, and runs while the row is
 * held. An equal definition changes nothing.
 */
export async function saveSchedule(
  database: Database,
  wanted: ScheduleToSave,
  decide: (existing: Schedule | null) => NextState,
  nowMs: number,
  onSkipped: OnSkipped = () => undefined,
): Promise<Saved> {
  for (;;) {
    const saved = await changeSchedules(
      database,
      (connection, record) => trySave({ connection, record }, wanted, decide, nowMs),
      onSkipped,
    );
    if (saved !== null) return saved;
  }
}

/** Null when the schedule was deleted between the two statements, so that another try will create it. */
async function trySave(
  { connection, record }: { connection: Queryable; record: RecordPassedOver },
  wanted: ScheduleToSave,
  decide: (existing: Schedule | null) => NextState,
  nowMs: number,
): Promise<Saved | null> {
  const created = await connection.run<ScheduleRow>('insert-schedule', columns(wanted, decide(null), nowMs));
  if (created[0] !== undefined) {
    return { schedule: await logged(connection, created[0], 'created', nowMs), changed: true };
  }
  const existing = await lockSchedule(connection, wanted.tenantId, wanted.id);
  if (existing === null) return null;
  if (existing.state !== 'ended' && sameDefinition(existing, wanted.definition)) {
    return { schedule: existing, changed: false };
  }
  const next = decide(existing);
  await record(passedOver(existing, next, nowMs));
  const rows = await connection.run<ScheduleRow>('update-schedule', columns(wanted, next, nowMs));
  return { schedule: await logged(connection, only(rows), 'edited', nowMs), changed: true };
}

/** Pauses or resumes: `decide` tells the new state, or null when nothing is to change. Null when there is no such schedule. */
export async function changeScheduleState(
  database: Database,
  key: { tenantId: number; id: string },
  decide: (existing: Schedule) => NextState | null,
  nowMs: number,
  onSkipped: OnSkipped = () => undefined,
): Promise<Saved | null> {
  return changeSchedules(
    database,
    async (connection, record) => {
      const existing = await lockSchedule(connection, key.tenantId, key.id);
      if (existing === null) return null;
      const next = decide(existing);
      if (next === null) return { schedule: existing, changed: false };
      await record(passedOver(existing, next, nowMs));
      const rows = await connection.run<ScheduleRow>('set-schedule-state', [
        key.tenantId,
        key.id,
        next.state,
        timestamp(next.nextFireAtMs),
        timestamp(nowMs),
      ]);
      const change = next.state === 'paused' ? 'paused' : next.state === 'ended' ? 'ended' : 'resumed';
      return { schedule: await logged(connection, only(rows), change, nowMs), changed: true };
    },
    onSkipped,
  );
}

/** Null when there is no such schedule. */
export async function deleteSchedule(
  database: Database,
  key: { tenantId: number; id: string },
  nowMs: number,
  onSkipped: OnSkipped = () => undefined,
): Promise<Schedule | null> {
  return changeSchedules(
    database,
    async (connection, record) => {
      const rows = await connection.run<ScheduleRow>('delete-schedule', [key.tenantId, key.id]);
      if (rows[0] === undefined) return null;
      await record(passedOver(scheduleFromRow(rows[0]), null, nowMs));
      return logged(connection, rows[0], 'deleted', nowMs);
    },
    onSkipped,
  );
}

async function lockSchedule(connection: Queryable, tenantId: number, id: string): Promise<Schedule | null> {
  const rows = await connection.run<ScheduleRow>('lock-schedule', [tenantId, id]);
  return rows[0] === undefined ? null : scheduleFromRow(rows[0]);
}

async function logged(
  connection: Queryable,
  row: ScheduleRow,
  change: 'created' | 'edited' | 'paused' | 'resumed' | 'deleted' | 'ended',
  nowMs: number,
): Promise<Schedule> {
  const schedule = scheduleFromRow(row);
  await connection.run('insert-schedule-change', [
    schedule.tenantId,
    schedule.id,
    timestamp(nowMs),
    schedule.generation,
    change,
    JSON.stringify({ cron: schedule.cron, timeZone: schedule.timeZone, nextFireAtMs: schedule.nextFireAtMs }),
  ]);
  return schedule;
}

function only(rows: ScheduleRow[]): ScheduleRow {
  const [row] = rows;
  if (row === undefined) throw new Error('a schedule that is locked cannot be gone');
  return row;
}

function columns({ tenantId, id, shard, definition }: ScheduleToSave, next: NextState, nowMs: number): unknown[] {
  return [
    ...[tenantId, id, shard, next.state, timestamp(next.nextFireAtMs), timestamp(nowMs)],
    ...[definition.cron, definition.timeZone, definition.destination, definition.method],
    ...[JSON.stringify(definition.headers), definition.body, definition.maxRetries, definition.timeoutMs],
    ...[definition.labels, JSON.stringify(toDeliveryOptions(definition))],
    ...[definition.delayMs, definition.misfire, definition.misfireWindowMs, definition.overlap, definition.windowMs],
    ...[timestamp(definition.startAtMs), timestamp(definition.endAtMs), definition.keyTemplate],
    timestamp(definition.anchorMs),
  ];
}
