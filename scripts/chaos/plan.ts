/** Which faults come in which order, with all their particulars: a pure function of the seed. */
import { SeededRandom } from '../../test/kit/seeded-random.js';
import { FAULT_KINDS, type FaultKind } from './evidence.js';

export interface PlannedFault {
  readonly kind: FaultKind;
  /** Numbers of the nodes it strikes, from 0; what it means is the kind's own matter. */
  readonly node: number;
  /** How long it lasts, where the kind has a length. */
  readonly lastsMs: number;
  /** For rolling restarts with a kill: after which restart, and how far into it. */
  readonly killAfterRestart: number;
  readonly killDelayMs: number;
  /** For a slow path. */
  readonly latencyMs: number;
  /** For a black hole: whether the connections live on when it heals, or are gone. */
  readonly survives: boolean;
  /** For a store: killed instead of stopped in order. For a node: how long it stays away. */
  readonly hard: boolean;
  readonly awayMs: number;
}

export interface PlanOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly leaseMs: number;
  /** Only these kinds; all when empty. */
  readonly only: readonly FaultKind[];
}

/** An endless plan: every kind once in a drawn order, then all again in another. */
export function* planFaults({ seed, nodes, leaseMs, only }: PlanOptions): Generator<PlannedFault, never> {
  const random = new SeededRandom(seed);
  const kinds = FAULT_KINDS.filter((kind) => only.length === 0 || only.includes(kind)).filter(
    // With one node there is no other to kill while it restarts, nor to give the shards to.
    (kind) => nodes > 1 || (kind !== 'rolling-kill' && kind !== 'drain'),
  );
  if (kinds.length === 0) throw new Error(`no fault is left of ${only.join(', ')} with ${nodes} node(s)`);
  for (;;) {
    for (const kind of random.shuffled(kinds)) {
      yield {
        kind,
        node: random.between(0, nodes - 1),
        lastsMs: lengthOf(kind, leaseMs, random),
        killAfterRestart: random.between(0, Math.max(0, nodes - 2)),
        killDelayMs: random.between(0, 1_500),
        latencyMs: random.between(20, 150),
        survives: random.happens(0.5),
        hard: random.happens(0.5),
        awayMs: random.between(0, 2 * leaseMs),
      };
    }
  }
}

function lengthOf(kind: FaultKind, leaseMs: number, random: SeededRandom): number {
  switch (kind) {
    case 'freeze':
    case 'freeze-transaction':
      // Beyond the lease, and now and then beyond the visibility (three leases) as well.
      return Math.round(leaseMs * (1.2 + 2.3 * random.next()));
    case 'slow-redis':
    case 'hog-reads':
    case 'lock-server-down':
      return 2 * leaseMs + random.between(0, leaseMs);
    case 'restart-redis':
    case 'restart-postgres':
      return random.between(0, 2_000);
    default:
      return Math.round(leaseMs * (0.4 + 1.8 * random.next()));
  }
}
