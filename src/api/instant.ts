// Parses a time as clients write it: ISO 8601 with its offset, or a Unix time.

import { CarillonError } from '../domain/errors.js';
import { readIsoInstant } from '../domain/instant.js';

const UNIX = /^\d{1,15}$/;
/** The end of the year 9999: later times have no ISO form with four digits. */
export const MAX_AT_MS = 253_402_300_799_999;

/**
 * Returns a time in epoch milliseconds, from 1970 to 9999. Digits alone are a Unix time: seconds in a header (as in
 * Upstash-Not-Before), milliseconds in a query or JSON (as in fromDate). Throws INVALID_REQUEST.
 */
export function parseInstant(text: string, what: string, unix: 'seconds' | 'milliseconds'): number {
  const trimmed = text.trim();
  const read = UNIX.test(trimmed)
    ? { atMs: Number(trimmed) * (unix === 'seconds' ? 1_000 : 1) }
    : readIsoInstant(trimmed);
  if ('atMs' in read && read.atMs >= 0 && read.atMs <= MAX_AT_MS) return read.atMs;
  const why = 'why' in read ? read.why : 'it must be from 1970 to 9999';
  throw new CarillonError(
    'INVALID_REQUEST',
    `${what} is ${JSON.stringify(text.slice(0, 60))}, expected a time such as 2026-03-08T07:00:00Z or 2026-03-08T03:00:00-04:00, or a Unix time in ${unix}${why === '' ? '' : `; ${why}`}`,
  );
}
