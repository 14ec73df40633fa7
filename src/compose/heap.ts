// The limit of V8's heap, and whether it leaves room for the request bodies that a node may hold.

import { getHeapStatistics } from 'node:v8';
import type { Config } from '../config.js';

const MIB = 2 ** 20;
/** What is made of bodies lies in the heap for a while; the rest of the heap is for all other work. */
const PART_FOR_BODIES = 1 / 2;

/** What V8 lets this process's heap grow to, in bytes. */
function heapLimitBytes(): number {
  return getHeapStatistics().heap_size_limit;
}

/** For logs. */
export function heapLimitMb(): number {
  return Math.floor(heapLimitBytes() / MIB);
}

/** Why a node with this configuration would run out of heap, in one line; null when it would not. */
export function heapError({ CARILLON_BODIES_MAX_BYTES: bytes }: Config, limitBytes = heapLimitBytes()): string | null {
  const most = Math.floor(limitBytes * PART_FOR_BODIES);
  if (bytes <= most) return null;
  return (
    `CARILLON_BODIES_MAX_BYTES is ${bytes}, expected at most ${most}, half of this process's heap limit of ` +
    `${Math.floor(limitBytes / MIB)} MiB: lower it, or give the node more memory (NODE_OPTIONS=--max-old-space-size=…)`
  );
}
