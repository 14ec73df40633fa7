/** Judges ownership: epochs only rise and belong to one process each (I5), and no shard is without an owner for long (I6). */
import type { Claim, Evidence, Grant, NodeEvent } from '../evidence.js';
import { clockTime, Findings, groupBy, spreadOf, type Finding, type Spread } from './findings.js';

export interface OwnershipVerdict {
  /** From a SIGKILL to the next grant of each shard of the dead process. */
  readonly failoverMs: Spread;
  /** From the moment at which an owner began to give shards to their next grants. */
  readonly handoverMs: Spread;
  /** When shards got another owner than before. */
  readonly movedAtMs: readonly number[];
  readonly epochFaults: readonly Finding[];
  readonly ownerless: readonly Finding[];
}

/** Beyond the lease: heartbeats, and the take itself. */
const FAILOVER_BEYOND_LEASE_MS = 1_500;
/** On a machine that is busy with other things only a failover that takes much longer is a fault; the table shows every time. */
const BUSY_FACTOR = 2;

export function judgeOwnership(evidence: Evidence): OwnershipVerdict {
  const epochFaults = new Findings();
  const ownerless = new Findings();
  const grantsOf = groupBy(evidence.grants, ({ shard }) => shard);
  for (const [shard, grants] of grantsOf) checkEpochs(shard, grants, epochFaults);
  checkClaims(evidence.claims, grantsOf, epochFaults);
  const failoverMs = failovers(evidence, grantsOf, ownerless);
  for (let shard = 0; shard < evidence.shards; shard++) {
    if (!grantsOf.has(shard)) ownerless.add('a shard that nobody ever had', String(shard));
  }
  const last = evidence.samples.at(-1);
  if (last?.orphanShards != null && last.orphanShards > 0) {
    ownerless.add('shards without an owner at the end', String(last.orphanShards));
  }
  return {
    failoverMs: spreadOf(failoverMs),
    handoverMs: spreadOf(handovers(evidence.events, grantsOf)),
    movedAtMs: [...grantsOf.values()].flatMap(moves),
    epochFaults: epochFaults.list(),
    ownerless: ownerless.list(),
  };
}

function checkEpochs(shard: number, grants: readonly Grant[], faults: Findings): void {
  grants.forEach((grant, index) => {
    const before = grants[index - 1];
    if (before === undefined || grant.epoch > before.epoch) return;
    faults.add('an epoch that did not rise', `shard ${shard}: ${before.epoch}, then ${grant.epoch} (${grant.node})`);
  });
}

/** Claims of one shard, in Redis's order: no epoch after a newer one, and none that the table never granted. */
function checkClaims(
  claims: readonly Claim[],
  grantsOf: ReadonlyMap<number, readonly Grant[]>,
  faults: Findings,
): void {
  for (const [shard, inOrder] of groupBy(claims, (claim) => claim.shard)) {
    const granted = new Set(grantsOf.get(shard)?.map(({ epoch }) => epoch));
    let newest = 0;
    for (const { epoch, atMs } of inOrder) {
      const name = `shard ${shard} at ${clockTime(atMs)}: epoch ${epoch}`;
      if (epoch < newest) faults.add('a claim with an old epoch', `${name} after ${newest}`);
      if (!granted.has(epoch)) faults.add('a claim with an epoch that was never granted', name);
      newest = Math.max(newest, epoch);
    }
  }
}

function failovers(
  { lives, leaseMs, faults, endedAtMs }: Evidence,
  grantsOf: ReadonlyMap<number, readonly Grant[]>,
  ownerless: Findings,
): number[] {
  const times: number[] = [];
  const killed = lives.filter(({ endedBy, identity }) => endedBy === 'SIGKILL' && identity !== null);
  // While a store is unavailable nobody may take anything.
  const storeFault = faults.filter(({ kind }) => /postgres|redis|locks|all|server/.test(kind));
  for (const life of killed) {
    const killedAtMs = life.signaledAtMs ?? life.endedAtMs ?? 0;
    if (storeFault.some((one) => one.startedAtMs <= killedAtMs && (one.recoveredAtMs ?? endedAtMs) >= killedAtMs))
      continue;
    for (const [shard, grants] of grantsOf) {
      const index = grants.findLastIndex(({ atMs }) => atMs <= killedAtMs);
      if (grants[index]?.node !== life.identity) continue;
      const next = grants[index + 1];
      const name = `shard ${shard} of ${life.identity}, killed ${clockTime(killedAtMs)}`;
      if (next === undefined) {
        ownerless.add('a shard that nobody took after its owner died', name);
        continue;
      }
      const tookMs = next.atMs - killedAtMs;
      times.push(tookMs);
      if (tookMs > BUSY_FACTOR * (leaseMs + FAILOVER_BEYOND_LEASE_MS)) {
        ownerless.add('a shard that was taken late after its owner died', `${name}: ${tookMs} ms`);
      }
    }
  }
  return times;
}

/** By the logs: 'shards handed over' says which and how long giving took; the table says when each was granted next. */
function handovers(events: readonly NodeEvent[], grantsOf: ReadonlyMap<number, readonly Grant[]>): number[] {
  const times: number[] = [];
  for (const { msg, fields, atMs, identity } of events) {
    if (msg !== 'shards handed over' || !Array.isArray(fields.shards)) continue;
    const durationMs = typeof fields.durationMs === 'number' ? fields.durationMs : 0;
    for (const shard of fields.shards as unknown[]) {
      const grants = grantsOf.get(Number(shard));
      // Where nobody else was there to take it, it was not handed over.
      const next = grants?.find((grant) => grant.atMs >= atMs - durationMs && grant.node !== identity);
      if (next !== undefined) times.push(next.atMs - (atMs - durationMs));
    }
  }
  return times;
}

function moves(grants: readonly Grant[]): number[] {
  return grants.flatMap((grant, index) => (index > 0 && grant.node !== grants[index - 1]?.node ? [grant.atMs] : []));
}
