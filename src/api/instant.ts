// Reads a point in time as clients write it: ISO 8601 with its offset, or a Unix time.

import { CarillonError } from '../domain/errors.js';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/i;
const UNIX = /^\d{1,15}$/;
/** The end of the year 9999: later times have no ISO form of four digits. */
export const MAX_AT_MS = 253_402_300_799_999;

/**
 * A time in epoch milliseconds, from 1970 to 9999. Digits alone are a Unix time: seconds where a header is read (as in
 * Upstash-Not-Before), milliseconds where a query or JSON is (as in fromDate). Throws INVALID_REQUEST.
 */
export function parseInstant(text: string, what: string, unix: 'seconds' | 'milliseconds'): number {
  const trimmed = text.trim();
  const atMs = UNIX.test(trimmed)
    ? Number(trimmed) * (unix === 'seconds' ? 1_000 : 1)
    : ISO.test(trimmed)
      ? Date.parse(
          trimmed
            .replace(',', '.')
            .replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
            .toUpperCase(),
        )
      : Number.NaN;
  if (atMs >= 0 && atMs <= MAX_AT_MS) return atMs;
  throw new CarillonError(
    'INVALID_REQUEST',
    `${what} is ${JSON.stringify(text.slice(0, 60))}, expected a time such as 2026-03-08T07:00:00Z or 2026-03-08T03:00:00-04:00, or a Unix time in ${unix}`,
  );
}
