// Random bytes from the system, fetched in large blocks: ten bytes cost as much as thousands.

import { randomFillSync } from 'node:crypto';
import type { RandomBytes } from '../domain/clock.js';

const POOL_BYTES = 8_192;

/** Returns a source of bytes that are used only once. They must not be written to. */
export function pooledRandom(): RandomBytes {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (bytes) => {
    if (used + bytes > pool.length) {
      // A new block each time: slices of the old one are in use.
      pool = randomFillSync(Buffer.allocUnsafeSlow(Math.max(POOL_BYTES, bytes)));
      used = 0;
    }
    used += bytes;
    return pool.subarray(used - bytes, used);
  };
}
