/**
 * How much heap each node of a local cluster may have. By itself V8 takes half of the memory that it sees (the machine's, or the limit of
 * its cgroup), as if it were alone there; nodes that start together share that half. The other half is for bodies and buffers, which lie
 * outside the heap, and for the stores.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** Below this a node has no room for the bodies that it may hold (CARILLON_BODIES_MAX_BYTES). */
const LEAST_MB = 256;
/** A node keeps no work in memory: more than this would only delay the garbage collector. */
const MOST_MB = 2_048;
const MIB = 2 ** 20;
const PART_FOR_HEAPS = 1 / 2;
/** Of the memory, where V8's own limits for all nodes together are left as they are. */
const PART_THAT_FITS = 3 / 4;

/** The old-space limit of each of so many nodes that share this memory, in MiB. */
export function heapLimitMb(memoryBytes: number, nodes: number): number {
  const share = Math.floor((memoryBytes * PART_FOR_HEAPS) / nodes / MIB);
  return Math.min(MOST_MB, Math.max(LEAST_MB, share));
}

/**
 * Arguments of Node.js for each of so many nodes. None where NODE_OPTIONS has a limit of the operator's, and none where V8's own limit
 * (`usualBytes`) fits for all of them: with another one V8 refuses the compiled program, and every start costs half a second more.
 */
export function heapArguments(
  environment: NodeJS.ProcessEnv,
  nodes: number,
  memoryBytes = memory(),
  usualBytes = getHeapStatistics().heap_size_limit,
): string[] {
  // V8 reads dashes and underscores alike.
  if (/--max[-_](?:old[-_]space|heap)[-_]size/.test(environment.NODE_OPTIONS ?? '')) return [];
  if (usualBytes * nodes <= memoryBytes * PART_THAT_FITS) return [];
  return [`--max-old-space-size=${heapLimitMb(memoryBytes, nodes)}`];
}

/** What this process may use: the machine's memory, or less if its cgroup has a limit. */
function memory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
}
