// Plans occurrences whose time passed before they could be fired: published late, or recorded as skipped.
//
// The actor calls `planFire` whenever it claims a schedule's entry. Most calls see one occurrence, on time. After an
// outage there may be hundreds of thousands, so a call plans at most `maxOccurrences` and returns where to continue;
// the actor calls again. Every nominal time is covered by exactly one planned occurrence, however the work is split
// into calls, because each decision depends only on the nominal time and the clock, never on the progress of a call.
//
// The missed occurrences (late by more than the grace) consist of an older part that is skipped and a newer part that
// is published; the policy decides only the border between them. In a very long older part the newest MAX_SKIPPED_ROWS
// times get a row each, and one row with an end time stands for those before.
import { nextFire } from './cron/next-fire.js';
import type { CronExpression } from './cron/expression.js';
import { DAY_MS, HOUR_MS, MINUTE_MS, parseDuration, SECOND_MS } from './duration.js';
import { CarillonError, invariant } from './errors.js';

/** Greatest lateness of an occurrence that counts as on time. */
const DEFAULT_MISFIRE_GRACE_MS = MINUTE_MS;
/** For `all` without a window. */
export const DEFAULT_MISFIRE_WINDOW_MS = 24 * HOUR_MS;
const MAX_MISFIRE_WINDOW_MS = 31 * DAY_MS;
/** Rows for skipped times; one row sums up the older ones. */
export const MAX_SKIPPED_ROWS = 200;

/** Of the missed occurrences, `skip` publishes none, `once` the latest, `all` those not older than the window. */
export type MisfirePolicy = 'skip' | 'once' | 'all';

export interface Misfire {
  readonly policy: MisfirePolicy;
  /** Used by `all` only. */
  readonly windowMs: number;
}

/**
 * Parses `skip`, `once`, `all` or `all; window=6h`, as in the header Carillon-Misfire.
 *
 * @throws CarillonError INVALID_REQUEST for anything else.
 */
export function parseMisfire(text: string, what = 'Carillon-Misfire'): Misfire {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim());
  const policy = name.toLowerCase();
  if (policy !== 'skip' && policy !== 'once' && policy !== 'all') {
    throw new CarillonError(
      'INVALID_REQUEST',
      `${what}: expected skip, once, all or "all; window=6h", got ${JSON.stringify(text.slice(0, 40))}`,
    );
  }
  let windowMs = DEFAULT_MISFIRE_WINDOW_MS;
  for (const parameter of parameters) {
    const window = /^window\s*=\s*(.*)$/i.exec(parameter);
    if (window?.[1] === undefined || parameters.length > 1) {
      throw new CarillonError(
        'INVALID_REQUEST',
        `${what}: expected one parameter, window=<duration>, got ${JSON.stringify(parameters.join('; ').slice(0, 40))}`,
      );
    }
    if (policy !== 'all') throw new CarillonError('INVALID_REQUEST', `${what}: only "all" has a window`);
    windowMs = parseDuration(window[1], `${what} window`, { minMs: SECOND_MS, maxMs: MAX_MISFIRE_WINDOW_MS });
  }
  return { policy, windowMs };
}

export interface PlanFireInput {
  readonly expression: CronExpression;
  /** The anchor of an `@every`; calendars ignore it. */
  readonly anchorMs: number;
  /** The next nominal time of the schedule; earlier ones are settled. */
  readonly nextFireAtMs: number;
  readonly nowMs: number;
  readonly misfire: Misfire;
  readonly misfireGraceMs?: number;
  /** The schedule's bounds, inclusive; times outside are no occurrences and create no rows. */
  readonly startAtMs: number | null;
  readonly endAtMs: number | null;
  /** Most planned occurrences that are returned; at least 1. */
  readonly maxOccurrences: number;
}

export type PlannedOccurrence =
  | { readonly action: 'publish'; readonly atMs: number }
  | {
      readonly action: 'skip';
      readonly reason: 'misfire';
      readonly atMs: number;
      /** Present on a row that stands for all nominal times from `atMs` to this one, both included. */
      readonly coversUntilMs?: number;
    };

export interface FirePlan {
  readonly occurrences: readonly PlannedOccurrence[];
  /** Not after `nowMs` when the batch was full: plan again. Null when the schedule has no occurrence left. */
  readonly nextFireAtMs: number | null;
}

/** Plans the occurrences from `nextFireAtMs` to `nowMs`, oldest first. Never plans one in the future. */
export function planFire(input: PlanFireInput): FirePlan {
  const { nowMs, startAtMs, endAtMs, maxOccurrences } = input;
  invariant(Number.isInteger(maxOccurrences) && maxOccurrences >= 1, 'planFire needs room for one occurrence');
  const grid = gridOf(input.expression, input.anchorMs, endAtMs);
  let atMs: number | null = input.nextFireAtMs;
  if (startAtMs !== null && atMs < startAtMs) atMs = grid.after(startAtMs - 1);
  if (atMs === null || (endAtMs !== null && atMs > endAtMs)) return { occurrences: [], nextFireAtMs: null };

  const occurrences: PlannedOccurrence[] = [];
  const skipBeforeMs = skipBorder(input, grid, atMs);
  const summaryEndMs = endOfSummary(grid, { firstMs: atMs, skipBeforeMs, maxRows: MAX_SKIPPED_ROWS });
  if (summaryEndMs !== null) {
    occurrences.push({ action: 'skip', reason: 'misfire', atMs, coversUntilMs: summaryEndMs });
    atMs = grid.after(summaryEndMs);
  }
  while (atMs !== null && atMs <= nowMs && occurrences.length < maxOccurrences) {
    if (atMs < skipBeforeMs) occurrences.push({ action: 'skip', reason: 'misfire', atMs });
    else occurrences.push({ action: 'publish', atMs });
    atMs = grid.after(atMs);
  }
  return { occurrences, nextFireAtMs: atMs };
}

export interface PassedOverInput extends Omit<PlanFireInput, 'misfire' | 'misfireGraceMs' | 'maxOccurrences'> {
  /**
   * Most nominal times that get rows of their own, the newest ones; at least 1. One more row stands for all before
   * them.
   */
  readonly maxRows: number;
}

export interface PassedOver {
  readonly atMs: number;
  /** Null on a row that stands for a single time. */
  readonly coversUntilMs: number | null;
}

/**
 * Returns the rows for all times from `nextFireAtMs` to `nowMs`, both included, of a schedule that will not be fired
 * for them.
 */
export function planPassedOver(input: PassedOverInput): PassedOver[] {
  const { nowMs, startAtMs, endAtMs, maxRows } = input;
  invariant(Number.isInteger(maxRows) && maxRows >= 1, 'planPassedOver needs room for one row');
  const grid = gridOf(input.expression, input.anchorMs, endAtMs);
  let atMs: number | null = input.nextFireAtMs;
  if (startAtMs !== null && atMs < startAtMs) atMs = grid.after(startAtMs - 1);
  if (atMs === null || atMs > nowMs || (endAtMs !== null && atMs > endAtMs)) return [];

  const rows: PassedOver[] = [];
  const summaryEndMs = endOfSummary(grid, { firstMs: atMs, skipBeforeMs: nowMs + 1, maxRows });
  if (summaryEndMs !== null) {
    rows.push({ atMs, coversUntilMs: summaryEndMs });
    atMs = grid.after(summaryEndMs);
  }
  for (; atMs !== null && atMs <= nowMs; atMs = grid.after(atMs)) rows.push({ atMs, coversUntilMs: null });
  return rows;
}

/** Nominal times of one schedule up to its end. */
interface Grid {
  /** Returns the first one strictly after, or null. */
  after(atMs: number): number | null;
}

function gridOf(expression: CronExpression, anchorMs: number, endAtMs: number | null): Grid {
  return {
    after(atMs) {
      const nextMs = nextFire(expression, atMs, anchorMs)?.atMs ?? null;
      return nextMs === null || (endAtMs !== null && nextMs > endAtMs) ? null : nextMs;
    },
  };
}

/** Returns the border: missed times before it are skipped, later ones published. */
function skipBorder(input: PlanFireInput, grid: Grid, firstMs: number): number {
  const missedBeforeMs = input.nowMs - (input.misfireGraceMs ?? DEFAULT_MISFIRE_GRACE_MS);
  switch (input.misfire.policy) {
    case 'skip':
      return missedBeforeMs;
    case 'all':
      return Math.min(missedBeforeMs, input.nowMs - input.misfire.windowMs);
    case 'once':
      return firstMs < missedBeforeMs ? lastBefore(grid, firstMs, missedBeforeMs) : missedBeforeMs;
  }
}

/**
 * Returns the latest nominal time before `beforeMs`, given that `firstMs` is one. Uses bisection, so a week of seconds
 * costs about forty steps.
 */
function lastBefore(grid: Grid, firstMs: number, beforeMs: number): number {
  let foundMs = firstMs;
  let highMs = beforeMs;
  for (;;) {
    const nextMs = grid.after(foundMs);
    if (nextMs === null || nextMs >= beforeMs) return foundMs;
    foundMs = nextMs;
    const middleMs = Math.floor((foundMs + highMs) / 2);
    if (middleMs <= foundMs) continue;
    const laterMs = grid.after(middleMs);
    if (laterMs === null || laterMs >= beforeMs) highMs = middleMs;
    else foundMs = laterMs;
  }
}

/** Returns the last nominal time of the summary row, or null when every skipped time can have its own row. */
function endOfSummary(
  grid: Grid,
  { firstMs, skipBeforeMs, maxRows }: { firstMs: number; skipBeforeMs: number; maxRows: number },
): number | null {
  if (firstMs >= skipBeforeMs) return null;
  if (timesBetween(grid, firstMs - 1, skipBeforeMs, maxRows + 1) !== null) return null;
  // Finds an instant after which there are enough skipped times for the rows, and few enough to list.
  let lowMs = firstMs;
  let highMs = skipBeforeMs;
  for (;;) {
    const middleMs = Math.floor((lowMs + highMs) / 2);
    const times = timesBetween(grid, middleMs, skipBeforeMs, 4 * maxRows);
    if (times === null) {
      lowMs = middleMs;
    } else if (times.length < maxRows && middleMs > lowMs) {
      highMs = middleMs;
    } else {
      const oldestRowMs = times.at(-maxRows) ?? skipBeforeMs;
      return lastBefore(grid, firstMs, oldestRowMs);
    }
  }
}

/** Returns the nominal times strictly between, or null when there are `limit` or more. */
function timesBetween(grid: Grid, afterMs: number, beforeMs: number, limit: number): number[] | null {
  const times: number[] = [];
  for (let atMs = grid.after(afterMs); atMs !== null && atMs < beforeMs; atMs = grid.after(atMs)) {
    times.push(atMs);
    if (times.length >= limit) return null;
  }
  return times;
}
