/** When the cluster is whole: every node ready, every shard owned and fairly spread, nothing overdue. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosCluster } from './cluster.js';
import { ADMIN_TOKEN } from './node-settings.js';
import type { Witness } from './witness.js';

const POLL_MS = 200;
/** Work that is due for longer than this is overdue. */
const OVERDUE_MS = 1_000;
/** What a fault did to the work may show a moment later: work becomes overdue, nodes find their leases gone. */
const STEADY_MS = 2_000;
const ASK_TIMEOUT_MS = 2_000;

export interface ShardSpread {
  readonly orphans: number;
  /** Shards of each node, by name. */
  readonly byNode: ReadonlyMap<string, number>;
}

/** Asks the cluster, by its load balancer, who owns what; null when there is no answer. */
export async function askSpread(url: string): Promise<ShardSpread | null> {
  try {
    const response = await fetch(`${url}/admin/shards`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
    });
    const body = (await response.json()) as { shards?: { owner: string | null; node: string | null }[] };
    if (response.status !== 200 || body.shards === undefined) return null;
    const byNode = new Map<string, number>();
    let orphans = 0;
    for (const { owner, node } of body.shards) {
      if (owner === null) orphans += 1;
      else byNode.set(node ?? owner, (byNode.get(node ?? owner) ?? 0) + 1);
    }
    return { orphans, byNode };
  } catch {
    return null;
  }
}

/** Drains a node by the API, asked of whichever node the load balancer picks. Rejects when it still has shards after `timeoutMs`. */
export async function drain(url: string, name: string, timeoutMs: number): Promise<void> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const deadlineMs = performance.now() + timeoutMs;
  let isAsked = false;
  while (performance.now() < deadlineMs) {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
    try {
      const response = await fetch(`${url}/admin/nodes`, { headers, signal });
      const { nodes } = (await response.json()) as { nodes: { id: string; name: string; shards: number }[] };
      const node = nodes.find((one) => one.name === name);
      if (isAsked && node?.shards === 0) return;
      if (node === undefined) throw new Error('not in the roster yet');
      const asked = await fetch(`${url}/admin/nodes/${node.id}/drain`, { method: 'POST', headers, signal });
      await asked.arrayBuffer();
      isAsked = asked.status === 202;
    } catch {
      // Asked again.
    }
    await delay(POLL_MS);
  }
  throw new Error(`${name} was asked to drain and still had shards after ${timeoutMs} ms`);
}

/** Since when the cluster was whole (or why it never was), and since when every shard had an owner. */
export type Recovery = { readonly ownedAtMs: number | null } & (
  { readonly atMs: number } | { readonly atMs: null; readonly why: string }
);

/** Waits until the cluster is whole and stays so for a while, or until that takes too long. */
export async function untilWhole(cluster: ChaosCluster, witness: Witness, timeoutMs: number): Promise<Recovery> {
  const deadlineMs = performance.now() + timeoutMs;
  let wholeSinceMs: number | null = null;
  let ownedAtMs: number | null = null;
  for (;;) {
    const spread = await askSpread(cluster.url);
    if (spread?.orphans === 0) ownedAtMs ??= Date.now();
    else if (spread !== null) ownedAtMs = null;
    const why = await whatIsMissing(cluster, witness, spread);
    wholeSinceMs = why === null ? (wholeSinceMs ?? Date.now()) : null;
    if (wholeSinceMs !== null && Date.now() - wholeSinceMs >= STEADY_MS) return { atMs: wholeSinceMs, ownedAtMs };
    if (why !== null && performance.now() > deadlineMs) return { atMs: null, why, ownedAtMs };
    await delay(POLL_MS);
  }
}

async function whatIsMissing(
  cluster: ChaosCluster,
  witness: Witness,
  spread: ShardSpread | null,
): Promise<string | null> {
  for (const node of cluster.nodes) {
    if (!(await node.isReady())) return `${node.name} is not ready`;
    if (node.state !== 'ready') await node.untilReady();
  }
  if (spread === null && cluster.nodes.length > 1) return 'GET /admin/shards has no answer';
  if (spread !== null && spread.orphans > 0) return `${spread.orphans} shards have no owner`;
  const counts = cluster.nodes.map(({ name }) => spread?.byNode.get(name) ?? 0);
  if (Math.max(...counts) - Math.min(...counts) > 1) return `shards are spread ${counts.join(', ')}`;
  const overdue = await witness.overdue(OVERDUE_MS);
  if (overdue === null) return 'the table does not answer';
  const late = await witness.lateSchedules(OVERDUE_MS);
  if (late === null) return 'the table does not answer';
  if (overdue + late.length > 0) return `${overdue} messages and ${late.length} schedules are overdue`;
  return null;
}
