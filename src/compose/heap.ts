// Checks whether V8's heap limit leaves room for the request bodies that a node may keep.

import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config.js';

const MIB = 2 ** 20;
/** Objects parsed from bodies stay in the heap for a while; the rest of the heap is for all other work. */
const PART_FOR_BODIES = 1 / 2;

/** Returns V8's limit for the heap of this process, in bytes. */
function heapLimitBytes(): number {
  return getHeapStatistics().heap_size_limit;
}

/** Returns the limit in MiB, for logs. */
export function heapLimitMb(): number {
  return Math.floor(heapLimitBytes() / MIB);
}

/** Returns in one line why a node with this configuration would run out of heap; null when it would not. */
export function heapError({ CARILLON_BODIES_MAX_BYTES: bytes }: Config, limitBytes = heapLimitBytes()): string | null {
  const most = Math.floor(limitBytes * PART_FOR_BODIES);
  if (bytes <= most) return null;
  return (
    `CARILLON_BODIES_MAX_BYTES is ${bytes}, expected at most ${most}, half of this process's heap limit of ` +
    `${Math.floor(limitBytes / MIB)} MiB: lower it, or give the node more memory (NODE_OPTIONS=--max-old-space-size=…)`
  );
}
