// What the statements do that keep and fire schedules (src/postgres/schedules/*.sql), by the statements' names.

import type { ScheduleRow } from '../../src/postgres/schedules/schedule-row.js';
import { type IsFree, scheduleLock, shardLock, type Statement, type Values } from './statement.js';
import { type ChangeRow, picked, rowsOf, scheduleKey, timeOf, timeOrNull, type View } from './tables.js';

/** The parameters of insert-schedule.sql, in their order. */
const SAVED = [
  ...([
    'tenant_id',
    'id',
    'shard',
    'state',
    'next_fire_at',
    'now',
    'cron',
    'time_zone',
    'destination',
    'method',
  ] as const),
  ...(['headers', 'body', 'max_retries', 'timeout_ms', 'labels', 'options', 'delay_ms', 'misfire'] as const),
  ...(['misfire_window_ms', 'overlap', 'window_ms', 'start_at', 'end_at', 'key_template', 'anchor_at'] as const),
];

/** The places of what a batch has once: tenant and time. */
const OF_ALL = new Set([0, 5]);

const FIRED = ['tenant_id', 'id', 'generation', 'expected_at', 'next_at', 'last_at', 'shard'] as const;

type Saved = Record<(typeof SAVED)[number], unknown>;

let changes = 0;

export const scheduleStatements: Readonly<Record<string, Statement>> = {
  'insert-schedule': {
    run: (view, values) => insert(view, savedOf(values)),
    locks: (_view, [tenantId, id]) => [scheduleLock(tenantId, id)],
  },
  'insert-schedules': {
    run: (view, values) =>
      batchOf(values)
        .flatMap((given) => insert(view, given))
        .map(({ id, generation }) => ({ id, generation })),
    locks: (_view, [tenantId, ids]) => (ids as string[]).map((id) => scheduleLock(tenantId, id)),
  },
  'update-schedule': {
    run: (view, values) => update(view, savedOf(values)),
    locks: (_view, [tenantId, id]) => [scheduleLock(tenantId, id)],
  },
  'update-schedules': {
    run: (view, values) =>
      batchOf(values)
        .flatMap((given) => update(view, given))
        .map(({ id, generation }) => ({ id, generation })),
    locks: (_view, [tenantId, ids]) => (ids as string[]).map((id) => scheduleLock(tenantId, id)),
  },
  'set-schedule-state': {
    run: (view, [tenantId, id, state, nextFireAt, now]) =>
      changed(view, tenantId, id, (row) => ({
        ...row,
        state: state as ScheduleRow['state'],
        next_fire_at: timeOrNull(nextFireAt),
        updated_at: timeOf(now),
        generation: row.generation + 1,
        error: null,
      })),
    locks: (_view, [tenantId, id]) => [scheduleLock(tenantId, id)],
  },
  'delete-schedule': {
    run: (view, [tenantId, id]) => {
      const rows = scheduleOf(view, tenantId, id);
      for (const row of rows) view.remove('schedules', scheduleKey(row.tenant_id, row.id));
      return rows;
    },
    locks: (_view, [tenantId, id]) => [scheduleLock(tenantId, id)],
  },
  'lock-schedules': {
    run: (view, values, isFree) => unlocked(view, values, isFree),
    locks: (view, values, isFree) =>
      unlocked(view, values, isFree).map(({ tenant_id, id }) => scheduleLock(tenant_id, id)),
  },
  'lock-schedule': {
    run: (view, [tenantId, id]) => scheduleOf(view, tenantId, id),
    locks: (view, [tenantId, id]) => scheduleOf(view, tenantId, id).map(() => scheduleLock(tenantId, id)),
  },
  'select-schedule': { run: (view, [tenantId, id]) => scheduleOf(view, tenantId, id) },
  'select-schedules-to-fire': {
    run: (view, values) =>
      rowsOf(values, ['tenant_id', 'id']).flatMap(({ tenant_id, id }) => scheduleOf(view, tenant_id, id)),
  },
  'select-schedules-to-promote': {
    run: (view, [shard, from, tenantId, id, until, limit]) => {
      const position = [timeOf(from), tenantId as number, id as string] as const;
      return view
        .all('schedules')
        .filter((row) => row.shard === shard && row.state === 'active')
        .flatMap((row) =>
          row.next_fire_at === null ? [] : [{ row, place: [row.next_fire_at, row.tenant_id, row.id] as const }],
        )
        .filter(({ place }) => place[0] < timeOf(until) && isBefore(position, place))
        .sort((a, b) => (isBefore(a.place, b.place) ? -1 : 1))
        .slice(0, limit as number)
        .map(({ row: { tenant_id, id: scheduleId, next_fire_at, generation } }) => ({
          ...{ tenant_id, id: scheduleId, next_fire_at, generation },
        }));
    },
  },
  'note-schedule-error': {
    run: (view, [tenantId, id, error]) => {
      const isNews = scheduleOf(view, tenantId, id).some((row) => row.state === 'active' && row.error !== error);
      if (!isNews) return [];
      changed(view, tenantId, id, (row) => ({ ...row, error: error as string }));
      return [{ id }];
    },
    locks: (_view, [tenantId, id]) => [scheduleLock(tenantId, id)],
  },
  'insert-schedule-change': {
    run: (view, [tenantId, scheduleId, at, generation, change, detail]) =>
      log(view, { tenant_id: tenantId, schedule_id: scheduleId, at, generation, change, detail }),
  },
  'insert-schedule-changes': {
    run: (view, [tenantId, at, ...columns]) =>
      rowsOf(columns, ['schedule_id', 'generation', 'change', 'detail']).flatMap((given) =>
        log(view, { ...given, tenant_id: tenantId, at }),
      ),
  },
  'fire-schedules': {
    run: (view, values) => {
      const current = currentShards(view, values);
      const advanced = advancing(view, values).map(({ row, fire }) => {
        changed(view, row.tenant_id, row.id, (before) => ({
          ...before,
          next_fire_at: timeOrNull(fire.next_at),
          last_fire_at: timeOf(fire.last_at),
          state: fire.next_at === null ? 'ended' : before.state,
          error: null,
        }));
        return { shard: row.shard, tenant_id: row.tenant_id, id: row.id };
      });
      return [...current.map((shard) => ({ shard, tenant_id: null, id: null })), ...advanced];
    },
    locks: (view, values) => [
      ...currentShards(view, values).map((shard) => shardLock(shard, true)),
      ...advancing(view, values).map(({ row }) => scheduleLock(row.tenant_id, row.id)),
    ],
  },
};

function insert(view: View, given: Saved): ScheduleRow[] {
  const key = scheduleKey(given.tenant_id as number, given.id as string);
  if (view.get('schedules', key) !== undefined) return [];
  const now = timeOf(given.now);
  const row: ScheduleRow = {
    ...definitionOf(given),
    tenant_id: given.tenant_id as number,
    id: given.id as string,
    generation: 1 + lastGeneration(view, given.tenant_id, given.id),
    anchor_at: timeOrNull(given.anchor_at) ?? now,
    last_fire_at: null,
    created_at: now,
    updated_at: now,
    error: null,
  };
  view.put('schedules', key, row);
  return [row];
}

function update(view: View, given: Saved): ScheduleRow[] {
  return changed(view, given.tenant_id, given.id, (row) => ({
    ...row,
    ...definitionOf(given),
    generation: row.generation + 1,
    anchor_at: timeOrNull(given.anchor_at) ?? row.anchor_at,
    updated_at: timeOf(given.now),
    error: null,
  }));
}

function log(view: View, given: Record<keyof ChangeRow, unknown>): [] {
  changes += 1;
  view.put('schedule_changes', String(changes), {
    tenant_id: given.tenant_id as number,
    schedule_id: given.schedule_id as string,
    at: timeOf(given.at),
    generation: given.generation as number,
    change: given.change as string,
    detail: JSON.parse(given.detail as string),
  });
  return [];
}

function currentShards(view: View, values: Values): number[] {
  return rowsOf(values, ['shard', 'epoch']).flatMap(({ shard, epoch }) =>
    view.get('shards', String(shard))?.epoch === epoch ? [shard as number] : [],
  );
}

/** The schedules that a firing advances, each with what is to become of it. */
function advancing(view: View, values: Values): { row: ScheduleRow; fire: Record<(typeof FIRED)[number], unknown> }[] {
  const current = new Set<unknown>(currentShards(view, values));
  return rowsOf(values.slice(2), FIRED).flatMap((fire) =>
    scheduleOf(view, fire.tenant_id, fire.id)
      .filter((row) => current.has(fire.shard) && row.generation === fire.generation && row.state === 'active')
      .filter((row) => row.next_fire_at === timeOrNull(fire.expected_at))
      .map((row) => ({ row, fire })),
  );
}

function scheduleOf(view: View, tenantId: unknown, id: unknown): ScheduleRow[] {
  const row = view.get('schedules', scheduleKey(tenantId as number, id as string));
  return row === undefined ? [] : [row];
}

/** Those of some schedules that nobody else holds. */
function unlocked(view: View, [tenantId, ids]: Values, isFree: IsFree): ScheduleRow[] {
  return (ids as string[])
    .flatMap((id) => scheduleOf(view, tenantId, id))
    .filter((row) => isFree(scheduleLock(row.tenant_id, row.id)));
}

function changed(view: View, tenantId: unknown, id: unknown, change: (row: ScheduleRow) => ScheduleRow): ScheduleRow[] {
  return scheduleOf(view, tenantId, id).map((row) => {
    const after = change(row);
    view.put('schedules', scheduleKey(row.tenant_id, row.id), after);
    return after;
  });
}

function lastGeneration(view: View, tenantId: unknown, id: unknown): number {
  const generations = view
    .all('schedule_changes')
    .filter((row) => row.tenant_id === tenantId && row.schedule_id === id)
    .map(({ generation }) => generation);
  return Math.max(0, ...generations);
}

function savedOf(values: Values): Saved {
  return Object.fromEntries(SAVED.map((name, index) => [name, values[index] ?? null])) as Saved;
}

const PLAIN = [
  ...(['shard', 'state', 'cron', 'time_zone', 'destination', 'method', 'body', 'max_retries', 'timeout_ms'] as const),
  ...(['labels', 'delay_ms', 'misfire', 'misfire_window_ms', 'overlap', 'window_ms', 'key_template'] as const),
];

/** The parameters of insert-schedules.sql, as those of insert-schedule.sql for each. */
function batchOf(values: Values): Saved[] {
  const ids = values[1] as string[];
  return ids.map((_id, row) => {
    const one = savedOf(
      values.map((value, place) => (OF_ALL.has(place) ? value : ((value as unknown[])[row] ?? null))),
    );
    return { ...one, labels: JSON.parse(one.labels as string) as unknown };
  });
}

type Definition = Omit<
  ScheduleRow,
  'tenant_id' | 'id' | 'generation' | 'anchor_at' | 'last_fire_at' | 'created_at' | 'updated_at' | 'error'
>;

function definitionOf(given: Saved): Definition {
  return {
    ...(picked(given, PLAIN) as Pick<Definition, (typeof PLAIN)[number]>),
    headers: JSON.parse(given.headers as string) as Definition['headers'],
    options: JSON.parse(given.options as string) as Definition['options'],
    next_fire_at: timeOrNull(given.next_fire_at),
    start_at: timeOrNull(given.start_at),
    end_at: timeOrNull(given.end_at),
  };
}

type Place = readonly [atMs: number, tenantId: number, id: string];

function isBefore(a: Place, b: Place): boolean {
  if (a[0] !== b[0]) return a[0] < b[0];
  return a[1] !== b[1] ? a[1] < b[1] : a[2] < b[2];
}
