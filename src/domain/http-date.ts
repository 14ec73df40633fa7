// Parses a date of an HTTP header (RFC 9110, 5.6.7). It is always GMT: Date.parse assumes the machine's zone when the
// text has none.

import { daysInMonth } from './cron/civil.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)';
/** Some senders omit the zone, or write it where the form has none; it is GMT anyway. */
const ZONE = '(?: (?:GMT|UTC))?';
const DAY_NAME = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY_NAME = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';

const FORMS = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^${DAY_NAME}, (?<day>\\d\\d) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME}${ZONE}$`),
  // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^${LONG_DAY_NAME}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d) ${TIME}${ZONE}$`),
  // asctime of C: Sun Nov  6 08:49:37 1994
  new RegExp(`^${DAY_NAME} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})${ZONE}$`),
];
/** A two-digit year too far in the future belongs to the century before. */
const MAX_YEARS_AHEAD = 50;

/** Returns epoch milliseconds; null for a text that is no such date or names a day that does not exist. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts !== undefined) return instantOf(parts, nowMs);
  }
  return null;
}

function instantOf(parts: Readonly<Record<string, string | undefined>>, nowMs: number): number | null {
  const number = (name: string): number => Number(parts[name]);
  const month = MONTHS.indexOf(parts.month ?? '');
  const [day, hour, minute, second] = [number('day'), number('hour'), number('minute'), number('second')];
  // A leap second is allowed there and means the second after it.
  if (month < 0 || hour > 23 || minute > 59 || second > 60) return null;
  const inYear = (year: number): number | null => {
    if (day < 1 || day > daysInMonth(year, month + 1)) return null;
    return new Date(0).setUTCFullYear(year, month, day) + ((hour * 60 + minute) * 60 + second) * 1000;
  };
  if (parts.year?.length === 4) return inYear(number('year'));
  const now = new Date(nowMs);
  const century = Math.floor(now.getUTCFullYear() / 100) * 100;
  const latestMs = new Date(nowMs).setUTCFullYear(now.getUTCFullYear() + MAX_YEARS_AHEAD);
  for (const year of [century + 100, century, century - 100].map((start) => start + number('year'))) {
    const atMs = inYear(year);
    if (atMs !== null && atMs <= latestMs) return atMs;
  }
  return null;
}
