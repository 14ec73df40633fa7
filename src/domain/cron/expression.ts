// A parsed cron text: plain values that the search in next-fire.ts uses.
import type { TimeZone } from './time-zone.js';

/**
 * `or`: both day fields are restricted and a day matches when either does (POSIX). `null`: at most one is restricted.
 * `and` is part of the public form, for calendars whose day fields must both match; no text has this meaning.
 */
export type DayRule = 'or' | 'and' | null;

/** Fires when the local calendar and clock match the fields. */
export interface CalendarExpression {
  readonly kind: 'calendar';
  /** The text verbatim, blanks trimmed, with its `CRON_TZ=` prefix. */
  readonly text: string;
  /** The IANA name verbatim; `UTC` when there was none. */
  readonly timeZone: string;
  readonly zone: TimeZone;
  readonly dayRule: DayRule;
  /** The hour field starts with `*`: matches the wall clock as it runs, see next-fire.ts. */
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

/** Fires at anchor + n * period, n >= 1. Zones and clock changes do not affect it. */
export interface IntervalExpression {
  readonly kind: 'interval';
  readonly text: string;
  /** Only for formatting local times. */
  readonly timeZone: string;
  readonly zone: TimeZone;
  readonly dayRule: null;
  readonly periodMs: number;
}

export type CronExpression = CalendarExpression | IntervalExpression;
