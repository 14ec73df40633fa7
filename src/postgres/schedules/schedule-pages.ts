// Pages of a tenant's schedules in the order of their ids, however many there are: each page begins after the last one's last id, so that
// schedules that come and go meanwhile move nothing.
//
// A page takes steps. Each step takes the next ids from the narrowest index that the filter allows, then looks at those schedules with the
// whole filter. What no index answers is looked at one by one, for a bounded time (pace.ts): such a page may end early.

import type { Clock } from '../../domain/clock.js';
import type { Schedule, ScheduleState } from '../../domain/schedule.js';
import type { Params, Queryable, Row } from '../database.js';
import { ReadThroughput } from '../read-throughput.js';
import type { BoundedReads } from '../reads.js';
import { scheduleFromRow } from './schedule-row.js';

/** Any value within one field, all fields together; a field that is null asks nothing. */
export interface ScheduleFilter {
  readonly states: readonly ScheduleState[] | null;
  readonly labels: readonly string[] | null;
  /** Lower case, with or without the port. */
  readonly hosts: readonly string[] | null;
  /** Whole destinations, as they were given. */
  readonly destinations: readonly string[] | null;
  /** How the id begins. */
  readonly idPrefix: string | null;
  /** What the id or the destination has in it, whatever the case. */
  readonly search: string | null;
}

export const ALL_SCHEDULES: ScheduleFilter = {
  states: null,
  labels: null,
  hosts: null,
  destinations: null,
  idPrefix: null,
  search: null,
};

export interface SchedulePage {
  readonly schedules: readonly Schedule[];
  /** The id after which the next page begins; null on the last one. A page may have fewer than asked for and still not be the last. */
  readonly nextAfterId: string | null;
}

/** Bodies come with the schedules: a page that would be larger ends early. */
const PAGE_BODY_BYTES = 8 * 2 ** 20;
/** Greater than any character of an id. */
const BEYOND_IDS = '~';
/** As long as hosts are in marks (migrations/0002). */
const MARKED_HOST_LENGTH = 255;

/** One page, after `afterId` ('' for the first), of at most `limit` schedules. */
export async function pageSchedules(
  reads: BoundedReads,
  clock: Clock,
  tenantId: number,
  query: { readonly filter: ScheduleFilter; readonly afterId: string; readonly limit: number },
): Promise<SchedulePage> {
  const { filter, limit } = query;
  const throughput = new ReadThroughput(clock, limit + 1);
  const sources = sourcesOf(filter);
  const found: Found[] = [];
  let afterId = query.afterId;
  let nextAfterId: string | null = null;
  for (;;) {
    const { stepRows } = throughput;
    const from = afterId;
    const step = await reads.step(async (table) => {
      const ids = await nextIds(table, tenantId, { filter, sources, afterId: from, limit: stepRows });
      return { ids, wanted: await wanted(table, tenantId, { filter, ids, limit: limit + 1 - found.length }) };
    });
    if (step === null) {
      if (afterId === query.afterId) throw reads.tooSlow();
      nextAfterId = afterId;
      break;
    }
    found.push(...step.wanted);
    const last = step.ids.at(-1);
    if (found.length > limit || last === undefined || step.ids.length < stepRows) break;
    afterId = last;
    if (throughput.goOn()) continue;
    nextAfterId = last;
    break;
  }
  const page = found.slice(0, fitting(found, limit));
  if (page.length < found.length) nextAfterId = page.at(-1)?.id ?? null;
  return { schedules: await schedulesOf(reads, tenantId, page), nextAfterId };
}

type Found = Row<'select-wanted-schedules'>;

/** Where a step finds ids: an index that has all that are wanted, and others. */
type Source = (table: Queryable, range: Params<'select-schedule-ids'>) => Promise<Row<'select-schedule-ids'>[]>;

const byMarks =
  (marks: readonly string[]): Source =>
  (table, range) =>
    table.run('select-schedule-ids-by-mark', { ...range, marks });
const byStates =
  (states: readonly ScheduleState[]): Source =>
  (table, range) =>
    table.run('select-schedule-ids-by-state', { ...range, states });
const byId: Source = (table, range) => table.run('select-schedule-ids', range);

function sourcesOf({ states, labels, hosts }: ScheduleFilter): readonly Source[] {
  const sources: Source[] = [];
  if (labels !== null) {
    sources.push(byMarks(labels.map((label) => `label ${label}`)));
  }
  if (hosts !== null) {
    const bare = new Set(hosts.map((host) => host.replace(/:\d*$/, '').slice(0, MARKED_HOST_LENGTH)));
    sources.push(byMarks([...bare].map((host) => `host ${host}`)));
  }
  if (states?.includes('active') === false) sources.push(byStates(states));
  return sources.length > 0 ? sources : [byId];
}

interface Step {
  readonly filter: ScheduleFilter;
  readonly sources: readonly Source[];
  readonly afterId: string;
  readonly limit: number;
}

/** The next ids of the source that has the fewest of them here: a host may have millions of schedules, and two of them be paused. */
async function nextIds(table: Queryable, tenantId: number, step: Step): Promise<readonly string[]> {
  const found = await Promise.all(step.sources.map((source) => idsOf(table, tenantId, source, step)));
  return found.reduce((best, ids) => (reachesFurther(ids, best, step.limit) ? ids : best));
}

/** What is shorter than asked for reaches the end. Ids are ASCII, whose order here is that of PostgreSQL. */
function reachesFurther(ids: readonly string[], best: readonly string[], limit: number): boolean {
  if (ids.length < limit || best.length < limit) return ids.length < best.length;
  return (ids.at(-1) ?? '') > (best.at(-1) ?? '');
}

async function idsOf(table: Queryable, tenantId: number, source: Source, step: Step): Promise<string[]> {
  const { afterId, limit } = step;
  const fromId = step.filter.idPrefix ?? '';
  const beforeId = step.filter.idPrefix === null ? null : fromId + BEYOND_IDS;
  return (await source(table, { tenantId, fromId, afterId, beforeId, limit })).map(({ id }) => id);
}

async function wanted(
  table: Queryable,
  tenantId: number,
  { filter, ids, limit }: { filter: ScheduleFilter; ids: readonly string[]; limit: number },
): Promise<Found[]> {
  if (ids.length === 0) return [];
  const { states, destinations, hosts, labels, search } = filter;
  const asked = { states, destinations, hosts, labels, search };
  return await table.run('select-wanted-schedules', { tenantId, ids, ...asked, limit });
}

/** How many of those found make a page: at most `limit`, and bodies of a bounded size, but at least one. */
function fitting(found: readonly Found[], limit: number): number {
  let bytes = 0;
  for (const [index, { body_bytes: bodyBytes }] of found.entries()) {
    bytes += bodyBytes;
    if (index === limit || (index > 0 && bytes > PAGE_BODY_BYTES)) return index;
  }
  return found.length;
}

async function schedulesOf(table: Queryable, tenantId: number, found: readonly Found[]): Promise<Schedule[]> {
  if (found.length === 0) return [];
  const rows = await table.run('select-schedules', { tenantId, ids: found.map(({ id }) => id) });
  return rows.map(scheduleFromRow);
}
