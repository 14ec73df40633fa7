// Random bytes from the system, fetched many at a time: asking for ten of them costs as much as asking for thousands.

import { randomFillSync } from 'node:crypto';
import type { RandomBytes } from '../domain/clock.js';

const POOL_BYTES = 8_192;

/** Gives bytes that nobody else is given. They must not be written to. */
export function pooledRandom(): RandomBytes {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (bytes) => {
    if (used + bytes > pool.length) {
      // A new one each time: the parts of the old one are others' by now.
      pool = randomFillSync(Buffer.allocUnsafeSlow(Math.max(POOL_BYTES, bytes)));
      used = 0;
    }
    used += bytes;
    return pool.subarray(used - bytes, used);
  };
}
