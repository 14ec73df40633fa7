// Computes which days of a month match, once for each of the 28 shapes of a month (length 28-31, weekday of its first
// day).
//
// `L`, `W` and `#` depend only on the shape, so afterwards the search only tests bits.
import { weekdayOf } from './civil.js';

/** The day-of-month field beyond plain numbers. */
export type MonthDayRule =
  | { readonly kind: 'last'; readonly daysBefore: number } // L, L-3
  | { readonly kind: 'nearest-weekday'; readonly day: number } // 15W
  | { readonly kind: 'last-weekday' }; // LW

/** The day-of-week field beyond plain numbers. */
export type WeekdayRule =
  | { readonly kind: 'nth'; readonly weekday: number; readonly nth: number } // 5#3
  | { readonly kind: 'last'; readonly weekday: number }; // 5L

/** `restricted` is false for a field that allows every day (`*`, `?`). */
export interface DayFields {
  readonly monthDays: {
    readonly restricted: boolean;
    readonly values: readonly number[];
    readonly rules: readonly MonthDayRule[];
  };
  readonly weekdays: {
    readonly restricted: boolean;
    readonly values: readonly number[];
    readonly rules: readonly WeekdayRule[];
  };
}

const SHORTEST_MONTH = 28;
const SHAPES = 4 * 7;

/** Returns the index of a month in the masks, from its length and the weekday (0-6) of its first day. */
export function shapeIndex(length: number, firstWeekday: number): number {
  return (length - SHORTEST_MONTH) * 7 + firstWeekday;
}

/** Returns the shape index of the month whose first day is `firstDayNumber`. */
export function shapeOf(length: number, firstDayNumber: number): number {
  return shapeIndex(length, weekdayOf(firstDayNumber));
}

/** Returns the matching days for each shape; bit d-1 stands for day d. */
export function buildDayMasks(fields: DayFields): Int32Array {
  const masks = new Int32Array(SHAPES);
  for (let length = SHORTEST_MONTH; length <= 31; length++) {
    for (let firstWeekday = 0; firstWeekday < 7; firstWeekday++) {
      masks[shapeIndex(length, firstWeekday)] = maskOfShape(fields, length, firstWeekday);
    }
  }
  return masks;
}

function maskOfShape({ monthDays, weekdays }: DayFields, length: number, firstWeekday: number): number {
  const everyDay = 2 ** length - 1;
  if (!monthDays.restricted && !weekdays.restricted) return everyDay;
  let mask = 0;
  const add = (day: number): void => {
    if (day >= 1 && day <= length) mask |= 1 << (day - 1);
  };
  if (monthDays.restricted) {
    for (const day of monthDays.values) add(day);
    for (const rule of monthDays.rules) add(dayOfRule(rule, length, firstWeekday));
  }
  if (weekdays.restricted) {
    for (const weekday of weekdays.values) {
      for (let day = firstDayOn(weekday, firstWeekday); day <= length; day += 7) add(day);
    }
    for (const rule of weekdays.rules) {
      const first = firstDayOn(rule.weekday, firstWeekday);
      add(rule.kind === 'nth' ? first + 7 * (rule.nth - 1) : first + 7 * Math.floor((length - first) / 7));
    }
  }
  return mask;
}

function firstDayOn(weekday: number, firstWeekday: number): number {
  return ((weekday - firstWeekday + 7) % 7) + 1;
}

/**
 * Returns the day of a rule in this shape; a day that the month does not have (31W in April) is out of range and never
 * matches.
 */
function dayOfRule(rule: MonthDayRule, length: number, firstWeekday: number): number {
  switch (rule.kind) {
    case 'last':
      return length - rule.daysBefore;
    case 'last-weekday':
      return nearestWeekday(length, length, firstWeekday);
    case 'nearest-weekday':
      return rule.day > length ? 0 : nearestWeekday(rule.day, length, firstWeekday);
  }
}

/**
 * Returns the weekday (Monday to Friday) nearest to the day, within the month: for a Saturday the 1st, Monday the 3rd.
 */
function nearestWeekday(day: number, length: number, firstWeekday: number): number {
  const weekday = (firstWeekday + day - 1) % 7;
  if (weekday === 6) return day === 1 ? day + 2 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}
