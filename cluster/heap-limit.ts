/**
 * How much heap each node of a local cluster may have. By itself V8 takes half of the memory that it sees (the machine's, or the limit of
 * its cgroup), as if it were alone there; nodes that start together share that half. The other half is for bodies and buffers, which lie
 * outside the heap, and for the stores.
 */
import { totalmem } from 'node:os';

/** Below this a node has no room for the bodies that it may hold (CARILLON_BODIES_MAX_BYTES). */
const LEAST_MB = 256;
/** A node keeps no work in memory: more than this would only delay the garbage collector. */
const MOST_MB = 2_048;
const MIB = 2 ** 20;
const PART_FOR_HEAPS = 1 / 2;

/** The old-space limit of each of so many nodes that share this memory, in MiB. */
export function heapLimitMb(memoryBytes: number, nodes: number): number {
  const share = Math.floor((memoryBytes * PART_FOR_HEAPS) / nodes / MIB);
  return Math.min(MOST_MB, Math.max(LEAST_MB, share));
}

/** Arguments of Node.js for each of so many nodes; none where NODE_OPTIONS has a limit of the operator's. */
export function heapArguments(environment: NodeJS.ProcessEnv, nodes: number, memoryBytes = memory()): string[] {
  // V8 reads dashes and underscores alike.
  if (/--max[-_](?:old[-_]space|heap)[-_]size/.test(environment.NODE_OPTIONS ?? '')) return [];
  return [`--max-old-space-size=${heapLimitMb(memoryBytes, nodes)}`];
}

/** What this process may use: the machine's memory, or less if its cgroup has a limit. */
function memory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
}
