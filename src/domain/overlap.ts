// The policy for an occurrence that is due while an earlier one is still being delivered.
import { CarillonError } from './errors.js';

/** `allow`: both run. `skip`: the later one becomes a skipped row. `queue`: the later one waits. */
export type OverlapPolicy = 'allow' | 'skip' | 'queue';

/** QStash has no overlap policy: its schedules always publish. */
export const DEFAULT_OVERLAP: OverlapPolicy = 'allow';

/**
 * Parses `allow`, `skip` or `queue`, as in the header Carillon-Overlap.
 *
 * @throws CarillonError INVALID_REQUEST for anything else.
 */
export function parseOverlap(text: string, what = 'Carillon-Overlap'): OverlapPolicy {
  const policy = text.trim().toLowerCase();
  if (policy === 'allow' || policy === 'skip' || policy === 'queue') return policy;
  throw new CarillonError(
    'INVALID_REQUEST',
    `${what}: expected allow, skip or queue, got ${JSON.stringify(text.slice(0, 40))}`,
  );
}
