// Spreads schedules that share a nominal time over a window, so that ten thousand jobs at the top of the hour do not
// start at once.
import { createHash } from 'node:crypto';
import { invariant } from './errors.js';

/** The hash is used as a fraction of 2^48: exact in a double, and finer than any window in milliseconds. */
const HASH_BYTES = 6;
const HASH_RANGE = 2 ** (8 * HASH_BYTES);

/**
 * Returns how long after its nominal times this schedule is due: whole milliseconds in [0, windowMs), and 0 without a
 * window. It depends only on the arguments, so a schedule keeps its offset from one occurrence to the next, on every
 * node and after every restart.
 */
export function spreadOffsetMs(tenantId: string, scheduleId: string, windowMs: number): number {
  invariant(Number.isInteger(windowMs) && windowMs >= 0, 'a spread window is whole milliseconds, 0 or more');
  if (windowMs <= 1) return 0;
  // The length distinguishes ("a", "bc") from ("ab", "c").
  const digest = createHash('sha256').update(`${tenantId.length}:${tenantId}${scheduleId}`).digest();
  return Math.floor((digest.readUIntBE(0, HASH_BYTES) / HASH_RANGE) * windowMs);
}
