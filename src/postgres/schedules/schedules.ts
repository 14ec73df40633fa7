// Changes to schedules: saving, pausing, resuming, deleting; each with a line in the change log, and with records of the occurrences that
// were due and are not fired any more.

import type { ScheduleChange } from '../../domain/explain-facts.js';
import { passedOver } from '../../domain/passed-over.js';
import type { NextState } from '../../domain/schedule-change.js';
import { sameDefinition } from '../../domain/schedule-change.js';
import type { Schedule, ScheduleDefinition } from '../../domain/schedule.js';
import type { Database, Params, Queryable } from '../database.js';
import { toDeliveryOptions } from '../messages/delivery-options.js';
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
  const created = await connection.run('insert-schedule', columns(wanted, decide(null), nowMs));
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
  const rows = await connection.run('update-schedule', columns(wanted, next, nowMs));
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
      const rows = await connection.run('set-schedule-state', {
        tenantId: key.tenantId,
        id: key.id,
        state: next.state,
        nextFireAtMs: next.nextFireAtMs,
        nowMs,
      });
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
      const rows = await connection.run('delete-schedule', { tenantId: key.tenantId, id: key.id });
      if (rows[0] === undefined) return null;
      await record(passedOver(scheduleFromRow(rows[0]), null, nowMs));
      return logged(connection, rows[0], 'deleted', nowMs);
    },
    onSkipped,
  );
}

async function lockSchedule(connection: Queryable, tenantId: number, id: string): Promise<Schedule | null> {
  const rows = await connection.run('lock-schedule', { tenantId, id });
  return rows[0] === undefined ? null : scheduleFromRow(rows[0]);
}

async function logged(
  connection: Queryable,
  row: ScheduleRow,
  change: ScheduleChange['change'],
  nowMs: number,
): Promise<Schedule> {
  const schedule = scheduleFromRow(row);
  await connection.run('insert-schedule-change', {
    tenantId: schedule.tenantId,
    scheduleId: schedule.id,
    atMs: nowMs,
    generation: schedule.generation,
    change,
    detail: JSON.stringify({ cron: schedule.cron, timeZone: schedule.timeZone, nextFireAtMs: schedule.nextFireAtMs }),
  });
  return schedule;
}

function only(rows: ScheduleRow[]): ScheduleRow {
  const [row] = rows;
  if (row === undefined) throw new Error('a schedule that is locked cannot be gone');
  return row;
}

function columns(
  { tenantId, id, shard, definition }: ScheduleToSave,
  { state, nextFireAtMs }: NextState,
  nowMs: number,
): Params<'insert-schedule'> {
  return {
    ...{ tenantId, id, shard, state, nextFireAtMs, nowMs },
    cron: definition.cron,
    timeZone: definition.timeZone,
    destination: definition.destination,
    method: definition.method,
    headers: JSON.stringify(definition.headers),
    body: definition.body,
    maxRetries: definition.maxRetries,
    timeoutMs: definition.timeoutMs,
    labels: definition.labels,
    options: JSON.stringify(toDeliveryOptions(definition)),
    delayMs: definition.delayMs,
    misfire: definition.misfire,
    misfireWindowMs: definition.misfireWindowMs,
    overlap: definition.overlap,
    windowMs: definition.windowMs,
    startAtMs: definition.startAtMs,
    endAtMs: definition.endAtMs,
    keyTemplate: definition.keyTemplate,
    anchorAtMs: definition.anchorMs,
  };
}
