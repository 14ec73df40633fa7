// Computes a schedule's state and next fire time after saving, pausing and resuming it.

import { nextFireWithin } from './cron/next-fire.js';
import { parseCronCached } from './cron/parse.js';
import type { CronExpression } from './cron/expression.js';
import { CarillonError } from './errors.js';
import type { Schedule, ScheduleDefinition, ScheduleState } from './schedule.js';

export interface NextState {
  readonly state: ScheduleState;
  readonly nextFireAtMs: number | null;
}

type Calendar = Pick<ScheduleDefinition, 'cron' | 'timeZone' | 'startAtMs' | 'endAtMs' | 'anchorMs'>;

type CronText = Pick<ScheduleDefinition, 'cron' | 'timeZone'>;

/** Returns the expression of a new definition, with its zone. Throws INVALID_CRON. */
export function givenExpression({ cron, timeZone }: CronText): CronExpression {
  return parseCronCached(cron, timeZone === null ? {} : { timeZone });
}

/** Returns the expression of a schedule that was accepted, with its zone. Throws INVALID_CRON. */
export function expressionOf({ cron, timeZone }: CronText): CronExpression {
  return parseCronCached(cron, { stored: true, ...(timeZone !== null && { timeZone }) });
}

/**
 * Returns the state of a schedule that is saved at `nowMs`; `existing` is the stored one. A paused schedule stays
 * paused. An edit that leaves the calendar unchanged keeps the next fire time, so that it cannot lose an occurrence
 * that is due right now; any other edit counts from now, and never repeats an occurrence that was already fired. Throws
 * INVALID_CRON for an expression that cannot be parsed or never fires, INVALID_REQUEST when no occurrence is within the
 * bounds.
 */
export function stateAfterSave(existing: Schedule | null, definition: ScheduleDefinition, nowMs: number): NextState {
  const anchorMs = definition.anchorMs ?? existing?.anchorMs ?? nowMs;
  const next = nextWithin(definition, { anchorMs, afterMs: existing === null ? nowMs : settledMs(existing, nowMs) });
  if (next === null) {
    throw new CarillonError(
      'INVALID_REQUEST',
      `the schedule has no occurrence left: "${definition.cron}" gives no time after now within Carillon-Start and Carillon-End`,
    );
  }
  if (existing?.state === 'paused') return { state: 'paused', nextFireAtMs: null };
  if (existing?.state === 'active' && sameCalendar(existing, definition)) {
    return { state: 'active', nextFireAtMs: existing.nextFireAtMs };
  }
  return { state: 'active', nextFireAtMs: next };
}

/** Returns the state of a schedule that is resumed at `nowMs`: the next time from now; nothing is caught up. */
export function stateAfterResume(schedule: Schedule, nowMs: number): NextState {
  const next = nextWithin(schedule, {
    anchorMs: schedule.anchorMs,
    afterMs: settledMs(schedule, nowMs),
  });
  return next === null ? { state: 'ended', nextFireAtMs: null } : { state: 'active', nextFireAtMs: next };
}

/**
 * The time up to which a schedule's occurrences have their records when it is changed: the previous change passed over
 * the occurrences due by then. A change may be committed long after its node read the clock, and after a change that
 * started later.
 */
function settledMs({ lastFireAtMs, updatedAtMs }: Schedule, nowMs: number): number {
  return Math.max(nowMs, lastFireAtMs ?? 0, updatedAtMs);
}

function nextWithin(calendar: Calendar, from: { anchorMs: number; afterMs: number }): number | null {
  return nextFireWithin(expressionOf(calendar), {
    ...from,
    startAtMs: calendar.startAtMs,
    endAtMs: calendar.endAtMs,
  });
}

function sameCalendar(a: Calendar, b: Calendar): boolean {
  const isSame =
    a.cron === b.cron && a.timeZone === b.timeZone && a.startAtMs === b.startAtMs && a.endAtMs === b.endAtMs;
  return isSame && isSameAnchor(a, b);
}

/** Returns whether two anchors are equal; an omitted anchor means the existing one. */
function isSameAnchor(a: Pick<Calendar, 'anchorMs'>, b: Pick<Calendar, 'anchorMs'>): boolean {
  return b.anchorMs === null || a.anchorMs === b.anchorMs;
}

/** Returns whether two definitions are equal, so that saving `b` over `a` changes nothing. */
export function sameDefinition(a: ScheduleDefinition, b: ScheduleDefinition): boolean {
  return isSameAnchor(a, b) && a.body.equals(b.body) && comparable(a) === comparable(b);
}

function comparable(definition: ScheduleDefinition): string {
  const { headers } = definition;
  return JSON.stringify([
    [definition.cron, definition.timeZone, definition.startAtMs, definition.endAtMs, definition.delayMs],
    [definition.misfire, definition.misfireWindowMs, definition.overlap, definition.windowMs, definition.keyTemplate],
    [definition.destination, definition.method, Object.entries(headers).sort(byName)],
    [definition.maxRetries, definition.retryDelay, definition.timeoutMs, definition.labels, definition.redact],
    [sortedKeys(definition.callback), sortedKeys(definition.failureCallback)],
  ]);
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Sorts the keys of an object: PostgreSQL returns the keys of jsonb in an order of its own. */
function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .sort(byName)
    .map(([name, inner]) => [name, sortedKeys(inner)]);
}
