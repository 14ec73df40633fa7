// What a cron text means once it has been read: plain values that the search in next-fire.ts runs on.
import type { TimeZone } from './time-zone.js';

/**
 * `or`: both day fields are restricted and a day matches when either does (POSIX). `null`: at most one is restricted.
 * `and` is part of the public form for calendars whose day fields must both match; no text we read has that meaning.
 */
export type DayRule = 'or' | 'and' | null;

/** Fires when the local calendar and clock match the fields. */
export interface CalendarExpression {
  readonly kind: 'calendar';
  /** The text as given, blanks trimmed, a `CRON_TZ=` prefix included. */
  readonly text: string;
  /** The IANA name as given; `UTC` when none was. */
  readonly timeZone: string;
  readonly zone: TimeZone;
  readonly dayRule: DayRule;
  /** The hour field begins with `*`: matches the wall clock as it runs, see next-fire.ts. */
  readonly wildcardHour: boolean;
  /** Bit m is set when month m (1-12) is allowed. */
  readonly monthMask: number;
  /** Matching days for each shape of a month, see day-masks.ts. */
  readonly dayMasks: Int32Array;
  /** `nextHour[h]` is the smallest allowed hour >= h, or -1; likewise for minutes and seconds. */
  readonly nextHour: Int8Array;
  readonly nextMinute: Int8Array;
  readonly nextSecond: Int8Array;
}

/** Fires on a grid: anchor + n * period, n >= 1. Zones and clock changes do not matter to it. */
export interface IntervalExpression {
  readonly kind: 'interval';
  readonly text: string;
  /** Only for showing local times. */
  readonly timeZone: string;
  readonly zone: TimeZone;
  readonly dayRule: null;
  readonly periodMs: number;
}

export type CronExpression = CalendarExpression | IntervalExpression;
