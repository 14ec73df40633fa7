// Plans which node owns which shard: a pure function of the members and the present owners, so that every node computes
// the same plan.
//
// Owners hand over, and other nodes acquire only free shards, so a node that plans by an outdated roster causes delay
// and nothing else.

/** Owner of each shard, by shard number; null for a shard without an owner. */
export type Owners = readonly (string | null)[];

interface Run {
  readonly start: number;
  readonly length: number;
}

/**
 * Returns the owner that each shard should have. The plan is balanced (shares differ by at most one), sticky (a joining
 * node gets at most ceil(S/(N+1)) shards and none moves between two present nodes; when a node leaves, only its shards
 * move), and the same for any order of `members`. Without owners, each member gets one contiguous range; later a
 * member's shards are a few runs. Returns an empty plan without members.
 *
 * No member hands over shards to a `joining` node. Joining nodes keep what they own. While the members are balanced
 * among themselves, they also get free shards up to their share among all; otherwise a free shard is on its way from
 * one member to another.
 */
export function planOwners(members: readonly string[], owners: Owners, joining: readonly string[] = []): string[] {
  const sorted = [...new Set(members)].sort();
  if (sorted.length === 0) return [];
  const young = new Set(joining);
  const allowed = new Set([...sorted, ...young]);
  const owned = owners.map((owner) => (owner !== null && allowed.has(owner) ? owner : null));
  if (owned.every((owner) => owner === null)) return equalRanges(sorted, owned.length);
  const plan = balanceBeside(young, sorted, owned);
  if (young.size === 0 || !isBalanced(sorted, owned)) return plan;
  const withoutFree = plan.map((owner, shard) => (owned[shard] === null ? null : owner));
  return fill(withoutFree, quotasOf([...sorted, ...young], withoutFree));
}

/** Balances among `members` the shards that the `young` do not own. */
function balanceBeside(young: ReadonlySet<string>, members: readonly string[], owners: Owners): string[] {
  const isYoung = (owner: string | null): owner is string => owner !== null && young.has(owner);
  const balanced = balance(
    members,
    owners.filter((owner) => !isYoung(owner)),
  ).values();
  return owners.map((owner) => (isYoung(owner) ? owner : (balanced.next().value ?? '')));
}

function isBalanced(members: readonly string[], owners: Owners): boolean {
  const counts = countsOf(owners);
  const shares = members.map((member) => counts.get(member) ?? 0);
  return Math.max(...shares) - Math.min(...shares) <= 1;
}

function balance(members: readonly string[], owners: Owners): string[] {
  const plan = [...owners];
  const quotas = quotasOf(members, plan);
  for (const member of members) release(plan, member, quotas.get(member) ?? 0);
  return fill(plan, quotas);
}

function equalRanges(members: readonly string[], shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => members[Math.floor((shard * members.length) / shards)] ?? '');
}

/**
 * Returns floor(S/N) for each member, and one more for the members that own the most, by name among equals. By how much
 * they exceed it does not matter; otherwise the first member to hand over would hand over again while others have yet
 * to do so.
 */
function quotasOf(members: readonly string[], plan: Owners): Map<string, number> {
  const counts = countsOf(plan);
  const least = Math.floor(plan.length / members.length);
  const extra = plan.length % members.length;
  const counted = (member: string): number => Math.min(counts.get(member) ?? 0, least + 1);
  const byCount = [...members].sort((a, b) => counted(b) - counted(a) || (a < b ? -1 : 1));
  return new Map(byCount.map((member, rank) => [member, rank < extra ? least + 1 : least]));
}

/**
 * Frees a member's shards beyond its quota: from its smallest run first and from that run's high end, so that runs stay
 * long.
 */
function release(plan: (string | null)[], member: string, quota: number): void {
  const runs = runsOf(plan, member).sort((a, b) => a.length - b.length || b.start - a.start);
  let surplus = runs.reduce((sum, run) => sum + run.length, 0) - quota;
  for (const run of runs) {
    for (let shard = run.start + run.length - 1; shard >= run.start && surplus > 0; shard--) {
      plan[shard] = null;
      surplus -= 1;
    }
  }
}

function runsOf(plan: Owners, member: string): Run[] {
  const runs: Run[] = [];
  let start = -1;
  for (let shard = 0; shard <= plan.length; shard++) {
    const isMine = plan[shard] === member;
    if (isMine && start < 0) start = shard;
    if (!isMine && start >= 0) {
      runs.push({ start, length: shard - start });
      start = -1;
    }
  }
  return runs;
}

/**
 * Assigns each free shard to its left neighbour's owner, else to its right neighbour's, else to the member that lacks
 * most.
 */
function fill(plan: (string | null)[], quotas: ReadonlyMap<string, number>): string[] {
  const counts = countsOf(plan);
  const lack = new Map([...quotas].map(([member, quota]) => [member, quota - (counts.get(member) ?? 0)]));
  const lacks = (member: string | null | undefined): member is string => (lack.get(member ?? '') ?? 0) > 0;
  return plan.map((owner, shard) => {
    if (owner !== null) return owner;
    const left = plan[shard - 1];
    const right = plan.slice(shard + 1).find((next) => next !== null);
    const receiver = lacks(left) ? left : lacks(right) ? right : neediest(lack);
    lack.set(receiver, (lack.get(receiver) ?? 0) - 1);
    plan[shard] = receiver;
    return receiver;
  });
}

function neediest(lack: ReadonlyMap<string, number>): string {
  const [first = ''] = [...lack].sort(([a, lacksA], [b, lacksB]) => lacksB - lacksA || (a < b ? -1 : 1))[0] ?? [];
  return first;
}

function countsOf(plan: Owners): Map<string, number> {
  const counts = new Map<string, number>();
  for (const owner of plan) if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}
