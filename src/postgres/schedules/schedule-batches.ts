// Saves many schedules of a tenant with a few statements a group, each with a line in the change log.
//
// What one of them must not be, refuses that one alone. Groups are saved one after the other; what an earlier group has committed stays
// when a later one fails. Saving the same again changes nothing, so the caller may repeat the whole.

import { passedOver } from '../../domain/passed-over.js';
import type { NextState } from '../../domain/schedule-change.js';
import { sameDefinition } from '../../domain/schedule-change.js';
import { CarillonError, invariant } from '../../domain/errors.js';
import type { Schedule, ScheduleDefinition } from '../../domain/schedule.js';
import type { Database, Params, Queryable } from '../database.js';
import { toDeliveryOptions } from '../messages/delivery-options.js';
import { changeSchedules, type OnSkipped, type RecordPassedOver } from './passed-over.js';
import { scheduleFromRow } from './schedule-row.js';

/** Rows of one group: enough to make the commit cheap for each, few enough to hold locks for milliseconds. */
const GROUP_ROWS = 500;
const GROUP_BODY_BYTES = 4 * 2 ** 20;

export interface BatchedSchedule {
  readonly id: string;
  readonly shard: number;
  readonly definition: ScheduleDefinition;
  /** It is to be paused, whether or not it was. Otherwise a schedule that is paused stays so. */
  readonly paused: boolean;
}

/** Where a schedule that was changed has its place now. */
export interface Placed {
  readonly id: string;
  readonly shard: number;
  readonly nextFireAtMs: number | null;
  readonly generation: number;
}

export type BatchResult =
  | { readonly kind: 'created' | 'edited'; readonly placed: Placed }
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly error: CarillonError };

/** The state of a schedule that is saved, from what is there. Throws CarillonError to refuse it. */
export type DecideState = (wanted: BatchedSchedule, existing: Schedule | null) => NextState;

/**
 * Creates or replaces schedules; one result for each, in order. An id that comes several times is saved as often, in order. `onGroup` is
 * called with what each group changed, once it is committed.
 */
export async function saveScheduleBatch(
  database: Database,
  tenantId: number,
  wanted: readonly BatchedSchedule[],
  {
    decide,
    nowMs,
    onGroup,
    onSkipped = () => undefined,
  }: {
    decide: DecideState;
    nowMs: number;
    onGroup: (placed: readonly Placed[]) => Promise<void>;
    onSkipped?: OnSkipped;
  },
): Promise<BatchResult[]> {
  const results = new Map<BatchedSchedule, BatchResult>();
  let left: readonly BatchedSchedule[] = wanted;
  let rows = GROUP_ROWS;
  while (left.length > 0) {
    const { group, rest } = nextGroup(left, rows);
    const saved = await changeSchedules(
      database,
      (connection, record) => saveGroup(connection, { tenantId, group, decide, nowMs, record }),
      onSkipped,
    );
    for (const [item, result] of saved) results.set(item, result);
    await onGroup([...saved.values()].flatMap((result) => ('placed' in result ? [result.placed] : [])));
    // Deleted by somebody between two statements, or held by somebody: another try creates or edits it. When there is nothing else to do
    // meanwhile, one by itself waits for who holds it.
    rows = saved.size === 0 ? 1 : GROUP_ROWS;
    left = [...group.filter((item) => !saved.has(item)), ...rest];
  }
  return wanted.map((item) => {
    const result = results.get(item);
    invariant(result !== undefined, 'each schedule of a batch has its result');
    return result;
  });
}

/** The next schedules up to the bounds of a group, none of whose ids comes twice. */
function nextGroup(
  left: readonly BatchedSchedule[],
  rows: number,
): { group: BatchedSchedule[]; rest: BatchedSchedule[] } {
  const ids = new Set<string>();
  let bytes = 0;
  let size = 0;
  for (const { id, definition } of left) {
    bytes += definition.body.length;
    if (ids.has(id) || size === rows || (size > 0 && bytes > GROUP_BODY_BYTES)) break;
    ids.add(id);
    size += 1;
  }
  return { group: left.slice(0, size), rest: left.slice(size) };
}

interface Group {
  readonly tenantId: number;
  readonly group: readonly BatchedSchedule[];
  readonly decide: DecideState;
  readonly nowMs: number;
  readonly record: RecordPassedOver;
}

type Decided = readonly [item: BatchedSchedule, next: NextState];

/** The results of a group; a schedule that was deleted between the statements, or is held by somebody, has none. */
async function saveGroup(connection: Queryable, given: Group): Promise<Map<BatchedSchedule, BatchResult>> {
  const results = new Map<BatchedSchedule, BatchResult>();
  const fresh = decideAll(given.group, results, (item) => given.decide(item, null));
  const created = await insertNew(connection, given, fresh);
  const taken: BatchedSchedule[] = [];
  for (const [item, next] of fresh) {
    const generation = created.get(item.id);
    if (generation === undefined) taken.push(item);
    else results.set(item, { kind: 'created', placed: placed(item, next, generation) });
  }
  if (taken.length > 0) await edit(connection, given, taken, results);
  await logChanges(connection, given, results);
  return results;
}

/** What is decided of each; those that are refused have their result at once. */
function decideAll(
  items: readonly BatchedSchedule[],
  results: Map<BatchedSchedule, BatchResult>,
  decide: (item: BatchedSchedule) => NextState,
): Decided[] {
  return items.flatMap((item) => {
    try {
      return [[item, decide(item)] as const];
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error;
      results.set(item, { kind: 'refused', error });
      return [];
    }
  });
}

/** Returns the generations of those whose ids were free. */
async function insertNew(
  connection: Queryable,
  given: Group,
  fresh: readonly Decided[],
): Promise<ReadonlyMap<string, number>> {
  if (fresh.length === 0) return new Map();
  const rows = await connection.run('insert-schedules', columns(given, fresh));
  return new Map(rows.map(({ id, generation }) => [id, generation]));
}

async function edit(
  connection: Queryable,
  given: Group,
  taken: readonly BatchedSchedule[],
  results: Map<BatchedSchedule, BatchResult>,
): Promise<void> {
  const [only] = taken;
  // Who holds nothing else may wait.
  const rows =
    given.group.length === 1 && only !== undefined
      ? await connection.run('lock-schedule', { tenantId: given.tenantId, id: only.id })
      : await connection.run('lock-schedules', { tenantId: given.tenantId, ids: taken.map(({ id }) => id) });
  const existing = new Map(rows.map((row) => [row.id, scheduleFromRow(row)]));
  const different: BatchedSchedule[] = [];
  for (const item of taken) {
    const schedule = existing.get(item.id);
    if (schedule === undefined) continue;
    if (isAsWanted(schedule, item)) results.set(item, { kind: 'unchanged' });
    else different.push(item);
  }
  const edits = decideAll(different, results, (item) => given.decide(item, existing.get(item.id) ?? null));
  if (edits.length === 0) return;
  await given.record(
    edits.flatMap(([{ id }, next]) => {
      const schedule = existing.get(id);
      return schedule === undefined ? [] : passedOver(schedule, next, given.nowMs, edits.length);
    }),
  );
  const updated = await connection.run('update-schedules', columns(given, edits));
  const generations = new Map(updated.map(({ id, generation }) => [id, generation]));
  for (const [item, next] of edits) {
    results.set(item, { kind: 'edited', placed: placed(item, next, generations.get(item.id) ?? 1) });
  }
}

function isAsWanted(schedule: Schedule, { definition, paused }: BatchedSchedule): boolean {
  if (schedule.state === 'ended' || (paused && schedule.state !== 'paused')) return false;
  return sameDefinition(schedule, definition);
}

function placed({ id, shard }: BatchedSchedule, { nextFireAtMs }: NextState, generation: number): Placed {
  return { id, shard, nextFireAtMs, generation };
}

async function logChanges(
  connection: Queryable,
  { tenantId, nowMs }: Group,
  results: ReadonlyMap<BatchedSchedule, BatchResult>,
): Promise<void> {
  const changes = [...results].flatMap(([item, result]) => ('placed' in result ? [{ item, result }] : []));
  if (changes.length === 0) return;
  await connection.run('insert-schedule-changes', {
    tenantId,
    atMs: nowMs,
    scheduleIds: changes.map(({ item }) => item.id),
    generations: changes.map(({ result }) => result.placed.generation),
    changes: changes.map(({ result }) => result.kind),
    details: changes.map(({ item: { definition }, result }) =>
      JSON.stringify({
        cron: definition.cron,
        timeZone: definition.timeZone,
        nextFireAtMs: result.placed.nextFireAtMs,
      }),
    ),
  });
}

/** The arrays that insert-schedules.sql and update-schedules.sql take. */
function columns({ tenantId, nowMs }: Group, items: readonly Decided[]): Params<'insert-schedules'> {
  const column = <Value>(value: (item: BatchedSchedule, next: NextState) => Value): Value[] =>
    items.map(([item, next]) => value(item, next));
  const defined = <Value>(value: (definition: ScheduleDefinition) => Value): Value[] =>
    column(({ definition }) => value(definition));
  return {
    tenantId,
    ids: column(({ id }) => id),
    shards: column(({ shard }) => shard),
    states: column((_, next) => next.state),
    nextFireAtMs: column((_, next) => next.nextFireAtMs),
    nowMs,
    crons: defined(({ cron }) => cron),
    timeZones: defined(({ timeZone }) => timeZone),
    destinations: defined(({ destination }) => destination),
    methods: defined(({ method }) => method),
    headers: defined(({ headers }) => JSON.stringify(headers)),
    bodies: defined(({ body }) => body),
    maxRetries: defined(({ maxRetries }) => maxRetries),
    timeoutMs: defined(({ timeoutMs }) => timeoutMs),
    labels: defined(({ labels }) => JSON.stringify(labels)),
    options: defined((definition) => JSON.stringify(toDeliveryOptions(definition))),
    delayMs: defined(({ delayMs }) => delayMs),
    misfires: defined(({ misfire }) => misfire),
    misfireWindowMs: defined(({ misfireWindowMs }) => misfireWindowMs),
    overlaps: defined(({ overlap }) => overlap),
    windowMs: defined(({ windowMs }) => windowMs),
    startAtMs: defined(({ startAtMs }) => startAtMs),
    endAtMs: defined(({ endAtMs }) => endAtMs),
    keyTemplates: defined(({ keyTemplate }) => keyTemplate),
    anchorAtMs: defined(({ anchorMs }) => anchorMs),
  };
}
