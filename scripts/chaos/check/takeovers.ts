/**
 * Judges takeovers after every fault (I6): the shards of a node that is frozen, or cut off, go to others in time, and after whatever was broken
 * is put back every shard has an owner in time. What a SIGKILL does to ownership is measured as well (ownership.ts).
 */
import type { Disturbance, Evidence, FaultKind, FaultNote, Grant } from '../evidence.js';
import { clockTime, Findings, groupBy, type Finding } from './findings.js';

/** Beyond the lease: heartbeats, and the take itself. */
const BEYOND_LEASE_MS = 1_500;
/** On a machine that is busy with other things only what takes much longer is a fault. */
const BUSY_FACTOR = 2;
/** A node without PostgreSQL or the data Redis notices by a request that times out, and gives its shards up after a lease of trying. */
const NOTICES_MS = 15_000;
const TRIES_LEASES = 2;

/** How soon the shards of a node that a fault strikes have to have other owners; null where they need not. */
function boundMs(kind: FaultKind, leaseMs: number): number | null {
  switch (kind) {
    case 'freeze':
    case 'freeze-transaction':
    case 'cut-locks':
    case 'cut-all':
      // Its leases end.
      return leaseMs + BEYOND_LEASE_MS;
    case 'cut-redis':
    case 'hole-redis':
    case 'cut-postgres':
    case 'hole-postgres':
    case 'hole-transaction':
      return NOTICES_MS + TRIES_LEASES * leaseMs + BEYOND_LEASE_MS;
    default:
      return null;
  }
}

export function judgeTakeovers(evidence: Evidence): Finding[] {
  const late = new Findings();
  const grantsOf = groupBy(evidence.grants, ({ shard }) => shard);
  for (const fault of evidence.faults) {
    const limitMs = boundMs(fault.kind, evidence.leaseMs);
    for (const disturbance of evidence.disturbances) {
      if (limitMs !== null && isOf(fault, disturbance)) {
        checkDisturbance(fault, disturbance, BUSY_FACTOR * limitMs, evidence, grantsOf, late);
      }
    }
    checkOwnedAfter(fault, evidence, late);
  }
  return late.list();
}

function isOf({ nodes, startedAtMs, endedAtMs }: FaultNote, { node, kind, fromMs }: Disturbance): boolean {
  return kind !== 'kill' && nodes.includes(node) && fromMs >= startedAtMs && fromMs <= endedAtMs;
}

/** One that was over before the bound takes nothing away from its node. */
function checkDisturbance(
  fault: FaultNote,
  { node, fromMs, toMs }: Disturbance,
  limitMs: number,
  { lives, endedAtMs }: Evidence,
  grantsOf: ReadonlyMap<number, readonly Grant[]>,
  late: Findings,
): void {
  const untilMs = Math.min(toMs, endedAtMs);
  if (untilMs - fromMs <= limitMs) return;
  const life = lives.findLast(({ name, spawnedAtMs }) => name === node && spawnedAtMs <= fromMs);
  for (const [shard, grants] of grantsOf) {
    const index = grants.findLastIndex(({ atMs }) => atMs <= fromMs);
    if (life?.identity == null || grants[index]?.node !== life.identity) continue;
    const next = grants.slice(index + 1).find((grant) => grant.node !== life.identity);
    if (next !== undefined && next.atMs <= fromMs + limitMs) continue;
    const took = next === undefined ? 'never' : `after ${Math.round(next.atMs - fromMs)} ms`;
    late.add(
      'a shard that was taken late while its owner could not work',
      `shard ${shard} of ${life.identity}, ${fault.kind} at ${clockTime(fromMs)}: ${took}`,
    );
  }
}

/** From the end of the fault: the leases of whoever it struck end, or it has them still. */
function checkOwnedAfter(
  { kind, detail, endedAtMs, ownedAtMs }: FaultNote,
  { leaseMs }: Evidence,
  late: Findings,
): void {
  if (ownedAtMs === undefined) return;
  // A lock server that restarted empty waits for a lease before it hands locks out.
  const limitMs = BUSY_FACTOR * (2 * leaseMs + BEYOND_LEASE_MS);
  if (ownedAtMs !== null && ownedAtMs - endedAtMs <= limitMs) return;
  const took = ownedAtMs === null ? 'never' : `${Math.round(ownedAtMs - endedAtMs)} ms`;
  late.add('shards without an owner long after a fault', `${kind} (${detail}): ${took}`);
}
