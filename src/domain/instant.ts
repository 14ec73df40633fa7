// Parses a time in ISO 8601 with its offset. Every part must exist: Date.parse turns 30 February into 2 March.
import { daysInMonth } from './cron/civil.js';

/** The time in epoch milliseconds, or what is wrong with the text, to be appended to "expected a time such as …". */
export type ReadInstant = { readonly atMs: number } | { readonly why: string };

const ISO = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d))$/i;
/** The same without its zone, with a blank instead of the T, or a date alone. */
const NEARLY_ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?))?(Z|[+-]\d\d:?\d\d)?$/i;
const MAX_OFFSET_MINUTES = 14 * 60;

/** Returns the time, cut to whole milliseconds. The year has four digits. */
export function readIsoInstant(text: string): ReadInstant {
  const match = ISO.exec(text);
  if (match === null) return { why: nearlyIso(text) };
  const [, year = '', month = '', day = '', hour = '', minute = '', second, fraction = ''] = match;
  const [, , , , , , , , sign, offsetHours = '0', offsetMinutes = '0'] = match;
  if (Number(month) < 1 || Number(month) > 12) return { why: `there is no month ${month}` };
  const days = daysInMonth(Number(year), Number(month));
  if (Number(day) < 1 || Number(day) > days) return { why: `${year}-${month} has ${days} days` };
  if (second === '60') return { why: 'a leap second has no Unix time: write the second before or after it' };
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) {
    return { why: `there is no time ${hour}:${minute}${second === undefined ? '' : `:${second}`}` };
  }
  const offset = Number(offsetHours) * 60 + Number(offsetMinutes);
  if (Number(offsetMinutes) > 59 || offset > MAX_OFFSET_MINUTES) {
    return { why: `the offset ${/[+-][\d:]+$/.exec(text)?.[0] ?? ''} is beyond 14 hours` };
  }
  const date = new Date(0);
  // Not Date.UTC, which maps the years 0 to 99 to the last century.
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second ?? 0), Number(fraction.slice(0, 3).padEnd(3, '0')));
  return { atMs: date.getTime() - (sign === '-' ? -offset : offset) * 60_000 };
}

function nearlyIso(text: string): string {
  const [, date = '', time = '00:00:00', zone] = NEARLY_ISO.exec(text) ?? [];
  if (date === '') return '';
  const meant = `did you mean ${date}T${time}${zone?.toUpperCase() ?? 'Z'}?`;
  return zone === undefined ? `its zone is missing: ${meant}` : meant;
}
