// Computes which instants a cron expression matches, across clock changes. Only this file does.
//
// The fields describe wall-clock times. The hour field decides how those become instants:
//
// * Fixed hours (an hour field that does not start with `*` or `?`): each matching wall-clock time fires exactly once.
//   A repeated time fires at its first instant. A time skipped by a forward change fires at the first instant after the
//   gap, and all times that fall on the same instant, a regular one included, are one firing. So the map from wall time
//   to instant never runs backwards, and walking matching wall times upwards finds the next firing.
// * Wildcard hours: the expression follows the clock as it runs. Skipped times do not fire, repeated times fire again.
//
// All searches are bounded by MAX_SEARCH_YEARS and visit months, not days, so no expression can block the event loop.

import { CarillonError, invariant } from '../errors.js';
import { civilFromDay, dayOf, daysInMonth, monthOf, SECONDS_PER_DAY, yearOf } from './civil.js';
import { shapeOf } from './day-masks.js';
import type { CalendarExpression, CronExpression } from './expression.js';
import { formatLocal, type TimeZone, type ZoneSegment } from './time-zone.js';

/** The rarest day of any text, 29 February on one weekday, is 40 years from the next when a century is no leap year. */
const MAX_SEARCH_YEARS = 50;
/**
 * The largest count of one preview: rare firings are far apart, and each new year of a zone costs some tenths of a
 * millisecond.
 */
export const MAX_NEXT_TIMES = 100;

const MAX_SEARCH_MONTHS = MAX_SEARCH_YEARS * 12;
const MAX_SEARCH_MS = MAX_SEARCH_YEARS * 366 * SECONDS_PER_DAY * 1000;
/** Years 0001 to 9999: ISO 8601 needs more digits outside, and no schedule needs them. */
const MIN_AT_MS = -62_135_596_800_000;
const MAX_AT_MS = 253_402_300_799_999;
/** No offset is further from UTC than this, so local time minus this is an instant before that local time. */
const MAX_OFFSET_MS = 16 * 3_600_000;
/** Wider than any clock change but Samoa's and Kwajalein's skipped days, which are exactly this wide. */
const MAX_CHANGE_MS = 25 * 3_600_000;

const NONE = Number.NaN;

/** `gap`: moved to the end of a gap. `overlap`: the clock shows this local time twice. */
export type DstNote = 'gap' | 'overlap' | null;

export interface FireTime {
  readonly atMs: number;
  readonly dst: DstNote;
}

/**
 * Returns the first firing strictly after `afterMs`, or null when there is none within MAX_SEARCH_YEARS or before the
 * year 10000.
 *
 * @param anchorMs the anchor of an `@every`; required for those, ignored for calendars.
 */
export function nextFire(expression: CronExpression, afterMs: number, anchorMs?: number): FireTime | null {
  invariant(Number.isFinite(afterMs), 'nextFire needs a finite time');
  if (afterMs < MIN_AT_MS || afterMs >= MAX_AT_MS) return null;
  let fire: FireTime | null;
  if (expression.kind === 'interval') {
    invariant(anchorMs !== undefined && Number.isFinite(anchorMs), 'an @every schedule needs its anchor');
    const steps = Math.max(1, Math.floor((afterMs - anchorMs) / expression.periodMs) + 1);
    fire = { atMs: anchorMs + steps * expression.periodMs, dst: null };
  } else {
    fire = expression.wildcardHour ? nextOnTheClock(expression, afterMs) : nextFixed(expression, afterMs);
  }
  return fire !== null && fire.atMs <= MAX_AT_MS ? fire : null;
}

export interface FireBounds {
  /** The result is strictly later. */
  readonly afterMs: number;
  readonly anchorMs?: number;
  /** Inclusive bounds of the schedule; null or absent for none. */
  readonly startAtMs?: number | null;
  readonly endAtMs?: number | null;
}

/** Returns the first firing after `afterMs` within the schedule's start and end, or null when there is none. */
export function nextFireWithin(expression: CronExpression, bounds: FireBounds): number | null {
  const { afterMs, anchorMs, startAtMs = null, endAtMs = null } = bounds;
  const fromMs = startAtMs === null ? afterMs : Math.max(afterMs, startAtMs - 1);
  const atMs = nextFire(expression, fromMs, anchorMs)?.atMs ?? null;
  return atMs === null || (endAtMs !== null && atMs > endAtMs) ? null : atMs;
}

export interface NextTime {
  readonly utcMs: number;
  /** ISO 8601 with the zone's offset: `2026-03-08T03:00:00-04:00`. */
  readonly local: string;
  readonly dst: DstNote;
}

/**
 * Returns the next `count` firings strictly after `fromMs`; fewer when the expression ends.
 *
 * @param anchorMs for `@every`; defaults to `fromMs`, as for a schedule created then.
 *
 * @throws CarillonError LIMIT_EXCEEDED when count is not 1..MAX_NEXT_TIMES.
 */
export function nextTimes(expression: CronExpression, fromMs: number, count: number, anchorMs = fromMs): NextTime[] {
  return [...eachNextTime(expression, fromMs, count, anchorMs)];
}

/** Yields the same one by one: rare firings take long to find, and the caller may do other work in between. */
export function* eachNextTime(
  expression: CronExpression,
  fromMs: number,
  count: number,
  anchorMs = fromMs,
): Generator<NextTime> {
  if (!Number.isInteger(count) || count < 1 || count > MAX_NEXT_TIMES) {
    throw new CarillonError('LIMIT_EXCEEDED', `count must be a whole number from 1 to ${MAX_NEXT_TIMES}, got ${count}`);
  }
  let afterMs = fromMs;
  for (let found = 0; found < count; found++) {
    const fire = nextFire(expression, afterMs, anchorMs);
    if (fire === null) return;
    yield { utcMs: fire.atMs, local: formatLocal(expression.zone, fire.atMs), dst: fire.dst };
    afterMs = fire.atMs;
  }
}

function nextFixed(expression: CalendarExpression, afterMs: number): FireTime | null {
  const { zone } = expression;
  const localMs = afterMs + zone.segmentAt(afterMs).offsetMs;
  let fromSecond = Math.floor(localMs / 1000) + 1;
  for (;;) {
    const wallSecond = nextWallSecond(expression, fromSecond);
    if (Number.isNaN(wallSecond)) return null;
    const wallMs = wallSecond * 1000;
    // Walks the segments from one that certainly starts earlier; the first that reaches this wall time contains its
    // first instant.
    let segment = zone.segmentAt(wallMs - MAX_OFFSET_MS);
    while (wallMs - segment.offsetMs >= segment.endMs) segment = zone.segmentAt(segment.endMs);
    const atMs = wallMs - segment.offsetMs;
    if (atMs < segment.startMs) return atGapEnd(expression, segment);
    if (atMs > afterMs) return { atMs, dst: occursTwice(zone, segment, atMs) ? 'overlap' : null };
    // The clock shows this stretch for the second time; everything in it has fired. Continue where the first pass
    // ended.
    fromSecond = Math.ceil((segment.endMs + segment.offsetMs) / 1000);
  }
}

function atGapEnd(expression: CalendarExpression, segment: ZoneSegment): FireTime {
  const wallSecond = (segment.startMs + segment.offsetMs) / 1000;
  const alsoRegular = nextWallSecond(expression, Math.ceil(wallSecond)) === wallSecond;
  return { atMs: segment.startMs, dst: alsoRegular ? null : 'gap' };
}

function nextOnTheClock(expression: CalendarExpression, afterMs: number): FireTime | null {
  const { zone } = expression;
  const lastWallMs = afterMs + MAX_SEARCH_MS;
  let segment = zone.segmentAt(afterMs);
  let wallSecond = nextWallSecond(expression, Math.floor((afterMs + segment.offsetMs) / 1000) + 1);
  // Not NaN and within the bound; the comparison is false for NaN.
  while (wallSecond * 1000 <= lastWallMs) {
    const wallMs = wallSecond * 1000;
    const atMs = wallMs - segment.offsetMs;
    if (atMs < segment.endMs) return { atMs, dst: occursTwice(zone, segment, atMs) ? 'overlap' : null };
    const next = zone.segmentAt(segment.endMs);
    const nextWallMs = next.startMs + next.offsetMs;
    const repeats = next.offsetMs < segment.offsetMs;
    if (repeats || wallMs < nextWallMs) {
      // Repeated wall times match again; a match inside a gap does not exist.
      wallSecond = nextWallSecond(expression, Math.ceil(nextWallMs / 1000));
      segment = next;
    } else if (wallMs - nextWallMs > MAX_CHANGE_MS + 2 * MAX_OFFSET_MS) {
      // Nothing matches in between, so the clock changes there do not matter. (Later than `next` starts:
      // progress.)
      segment = zone.segmentAt(wallMs - MAX_CHANGE_MS - MAX_OFFSET_MS);
    } else {
      segment = next;
    }
  }
  return null;
}

/** Returns whether the wall time of `atMs`, which is in the segment, occurs a second time nearby. */
function occursTwice(zone: TimeZone, segment: ZoneSegment, atMs: number): boolean {
  const wallMs = atMs + segment.offsetMs;
  if (segment.endMs - atMs <= MAX_CHANGE_MS) {
    const next = zone.segmentAt(segment.endMs);
    if (wallMs - next.offsetMs >= next.startMs) return true;
  }
  if (atMs - segment.startMs <= MAX_CHANGE_MS) {
    const preceding = zone.segmentAt(segment.startMs - 1);
    if (wallMs - preceding.offsetMs < preceding.endMs) return true;
  }
  return false;
}

/**
 * Returns the first matching wall-clock second >= fromSecond (seconds since 1970-01-01T00:00 by the wall clock), or
 * NaN.
 */
function nextWallSecond(expression: CalendarExpression, fromSecond: number): number {
  const fromDay = Math.floor(fromSecond / SECONDS_PER_DAY);
  const day = nextDay(expression, fromDay);
  if (day === fromDay) {
    const secondOfDay = nextSecondOfDay(expression, fromSecond - fromDay * SECONDS_PER_DAY);
    if (secondOfDay >= 0) return day * SECONDS_PER_DAY + secondOfDay;
    return nextDay(expression, fromDay + 1) * SECONDS_PER_DAY + nextSecondOfDay(expression, 0);
  }
  return day * SECONDS_PER_DAY + nextSecondOfDay(expression, 0);
}

/** Returns the first matching day >= fromDay, or NaN when there is none within the bound. */
function nextDay(expression: CalendarExpression, fromDay: number): number {
  if (Number.isNaN(fromDay)) return NONE;
  const civil = civilFromDay(fromDay);
  let year = yearOf(civil);
  let month = monthOf(civil);
  let firstDay = fromDay - dayOf(civil) + 1;
  let window = -1 << (dayOf(civil) - 1);
  for (let searched = 0; searched <= MAX_SEARCH_MONTHS; searched++) {
    const length = daysInMonth(year, month);
    if (((expression.monthMask >> month) & 1) === 1) {
      const days = (expression.dayMasks[shapeOf(length, firstDay)] ?? 0) & window;
      if (days !== 0) return firstDay + 31 - Math.clz32(days & -days);
    }
    window = -1;
    firstDay += length;
    month += 1;
    if (month > 12) {
      month = 1;
      year += 1;
    }
  }
  return NONE;
}

/** Returns the first matching second of the day >= fromSecond, or -1 when the day has none left. */
function nextSecondOfDay({ nextHour, nextMinute, nextSecond }: CalendarExpression, fromSecond: number): number {
  const fromHour = Math.floor(fromSecond / 3600);
  const fromMinute = Math.floor(fromSecond / 60) % 60;
  let hour = nextHour[fromHour] ?? -1;
  let minute = nextMinute[0] ?? -1;
  let second = nextSecond[0] ?? -1;
  if (hour === fromHour) {
    const minuteNow = nextMinute[fromMinute] ?? -1;
    const secondNow = minuteNow === fromMinute ? (nextSecond[fromSecond % 60] ?? -1) : second;
    // When this minute has no second left, the next allowed minute starts with its first.
    const minuteThen = secondNow >= 0 ? minuteNow : (nextMinute[fromMinute + 1] ?? -1);
    if (minuteThen >= 0) {
      minute = minuteThen;
      if (secondNow >= 0) second = secondNow;
    } else {
      hour = nextHour[fromHour + 1] ?? -1;
    }
  }
  return hour < 0 ? -1 : (hour * 60 + minute) * 60 + second;
}
