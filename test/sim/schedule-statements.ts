// What the statements do that keep schedules (src/postgres/schedules/*.sql), by the statements' names; fire-
// statements.ts has the rest.

import type { Params } from '../../src/postgres/database.js';
import type { ScheduleRow } from '../../src/postgres/schedules/schedule-row.js';
import { type IsFree, scheduleLock, type StatementModels } from './statement.js';
import type { RowLock } from './postgres-transactions.js';
import { type ChangeRow, picked, rowsOf, scheduleKey, timeOf, timeOrNull, type View } from './tables.js';

/** The parameters that insert-schedule.sql and update-schedule.sql have in common. */
type Saved = Params<'insert-schedule'>;

let changes = 0;

export const scheduleStatements: StatementModels = {
  'insert-schedule': { run: insert, locks: ofSchedule },
  'insert-schedules': {
    run: (view, given) =>
      batchOf(given)
        .flatMap((one) => insert(view, one))
        .map((row) => picked(row, ['id', 'generation'])),
    locks: (_view, { tenantId, ids }) => ids.map((id) => scheduleLock(tenantId, id)),
  },
  'update-schedule': { run: update, locks: ofSchedule },
  'update-schedules': {
    run: (view, given) =>
      batchOf(given)
        .flatMap((one) => update(view, one))
        .map((row) => picked(row, ['id', 'generation'])),
    locks: (_view, { tenantId, ids }) => ids.map((id) => scheduleLock(tenantId, id)),
  },
  'set-schedule-state': {
    run: (view, { tenantId, id, state, nextFireAtMs, nowMs }) =>
      changed(view, tenantId, id, (row) => ({
        ...row,
        state,
        next_fire_at: timeOrNull(nextFireAtMs),
        updated_at: Math.max(row.updated_at, timeOf(nowMs)),
        generation: row.generation + 1,
        error: null,
      })),
    locks: ofSchedule,
  },
  'delete-schedule': {
    run: (view, { tenantId, id }) => {
      const rows = scheduleOf(view, tenantId, id);
      for (const row of rows) view.remove('schedules', scheduleKey(row.tenant_id, row.id));
      return rows;
    },
    locks: ofSchedule,
  },
  'lock-schedule': {
    run: (view, { tenantId, id }) => scheduleOf(view, tenantId, id),
    locks: (view, { tenantId, id }) => scheduleOf(view, tenantId, id).map(() => scheduleLock(tenantId, id)),
  },
  'lock-schedules': {
    run: unlocked,
    locks: (view, params, isFree) =>
      unlocked(view, params, isFree).map(({ tenant_id, id }) => scheduleLock(tenant_id, id)),
  },
  'select-schedule': { run: (view, { tenantId, id }) => scheduleOf(view, tenantId, id) },
  'note-schedule-error': {
    run: (view, { tenantId, id, error }) => {
      const isNews = scheduleOf(view, tenantId, id).some((row) => row.state === 'active' && row.error !== error);
      if (!isNews) return [];
      changed(view, tenantId, id, (row) => ({ ...row, error }));
      return [{ id }];
    },
    locks: ofSchedule,
  },
  'insert-schedule-change': {
    run: (view, { tenantId, scheduleId, atMs, generation, change, detail }) =>
      log(view, { tenant_id: tenantId, schedule_id: scheduleId, at: timeOf(atMs), generation, change, detail }),
  },
  'insert-schedule-changes': {
    run: (view, { tenantId, atMs, scheduleIds, generations, changes: which, details }) =>
      rowsOf({ schedule_id: scheduleIds, generation: generations, change: which, detail: details }).flatMap((given) =>
        log(view, { ...given, tenant_id: tenantId, at: timeOf(atMs) }),
      ),
  },
};

export function scheduleOf(view: View, tenantId: number, id: string): ScheduleRow[] {
  const row = view.get('schedules', scheduleKey(tenantId, id));
  return row === undefined ? [] : [row];
}

export function changed(
  view: View,
  tenantId: number,
  id: string,
  change: (row: ScheduleRow) => ScheduleRow,
): ScheduleRow[] {
  return scheduleOf(view, tenantId, id).map((row) => {
    const after = change(row);
    view.put('schedules', scheduleKey(row.tenant_id, row.id), after);
    return after;
  });
}

function ofSchedule(_view: View, { tenantId, id }: { tenantId: number; id: string }): RowLock[] {
  return [scheduleLock(tenantId, id)];
}

/** Those of some schedules that nobody else holds. */
function unlocked(view: View, { tenantId, ids }: Params<'lock-schedules'>, isFree: IsFree): ScheduleRow[] {
  return ids
    .flatMap((id) => scheduleOf(view, tenantId, id))
    .filter((row) => isFree(scheduleLock(row.tenant_id, row.id)));
}

function insert(view: View, given: Saved): ScheduleRow[] {
  const { tenantId, id } = given;
  if (scheduleOf(view, tenantId, id).length > 0) return [];
  const now = timeOf(given.nowMs);
  const row: ScheduleRow = {
    ...definitionOf(given),
    ...{ tenant_id: tenantId, id, generation: 1 + lastGeneration(view, tenantId, id) },
    anchor_at: timeOrNull(given.anchorAtMs) ?? now,
    ...{ last_fire_at: null, created_at: now, updated_at: now, error: null },
  };
  view.put('schedules', scheduleKey(tenantId, id), row);
  return [row];
}

function update(view: View, given: Saved): ScheduleRow[] {
  return changed(view, given.tenantId, given.id, (row) => ({
    ...row,
    ...definitionOf(given),
    generation: row.generation + 1,
    anchor_at: timeOrNull(given.anchorAtMs) ?? row.anchor_at,
    updated_at: Math.max(row.updated_at, timeOf(given.nowMs)),
    error: null,
  }));
}

function log(view: View, { detail, ...given }: Omit<ChangeRow, 'detail'> & { readonly detail: string }): [] {
  changes += 1;
  view.put('schedule_changes', String(changes), { ...given, detail: JSON.parse(detail) as unknown });
  return [];
}

function lastGeneration(view: View, tenantId: number, id: string): number {
  const generations = view
    .all('schedule_changes')
    .filter((row) => row.tenant_id === tenantId && row.schedule_id === id)
    .map(({ generation }) => generation);
  return Math.max(0, ...generations);
}

/** The parameters of insert-schedules.sql, as those of insert-schedule.sql for each. */
function batchOf(given: Params<'insert-schedules'>): Saved[] {
  const { tenantId, nowMs } = given;
  return rowsOf({
    ...{ id: given.ids, shard: given.shards, state: given.states, nextFireAtMs: given.nextFireAtMs, cron: given.crons },
    ...{ timeZone: given.timeZones, destination: given.destinations, method: given.methods, headers: given.headers },
    ...{ body: given.bodies, maxRetries: given.maxRetries, timeoutMs: given.timeoutMs, labels: given.labels },
    ...{ options: given.options, delayMs: given.delayMs, misfire: given.misfires, overlap: given.overlaps },
    ...{ misfireWindowMs: given.misfireWindowMs, windowMs: given.windowMs, startAtMs: given.startAtMs },
    ...{ endAtMs: given.endAtMs, keyTemplate: given.keyTemplates, anchorAtMs: given.anchorAtMs },
  }).map((one) => ({ ...one, tenantId, nowMs, labels: JSON.parse(one.labels) as string[] }));
}

type Definition = Omit<
  ScheduleRow,
  'tenant_id' | 'id' | 'generation' | 'anchor_at' | 'last_fire_at' | 'created_at' | 'updated_at' | 'error'
>;

function definitionOf(given: Saved): Definition {
  return {
    ...picked(given, ['shard', 'state', 'cron', 'destination', 'method', 'body', 'misfire', 'overlap']),
    ...{ time_zone: given.timeZone, max_retries: given.maxRetries, timeout_ms: given.timeoutMs },
    ...{ delay_ms: given.delayMs, misfire_window_ms: given.misfireWindowMs, window_ms: given.windowMs },
    key_template: given.keyTemplate,
    labels: [...given.labels],
    headers: JSON.parse(given.headers) as Definition['headers'],
    options: JSON.parse(given.options) as Definition['options'],
    next_fire_at: timeOrNull(given.nextFireAtMs),
    start_at: timeOrNull(given.startAtMs),
    end_at: timeOrNull(given.endAtMs),
  };
}
