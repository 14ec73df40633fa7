/** Carries out the faults of the plan, each from breaking to putting back. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ChaosCluster } from './cluster.js';
import type { Disturbance, FaultKind } from './evidence.js';
import type { ChaosNode } from './node.js';
import type { Store } from './paths.js';
import type { Api } from './api.js';
import { hogReads } from './hog-reads.js';
import type { ScheduleLoad } from './load-schedules.js';
import { drain } from './recovery.js';
import type { PlannedFault } from './plan.js';
import type { PathMode } from './tcp-path.js';
import { strikeWithinTransaction } from './within-transaction.js';
import type { Witness } from './witness.js';

export interface FaultGround {
  readonly cluster: ChaosCluster;
  /** Everything that excuses second deliveries goes in here. */
  readonly disturbances: Disturbance[];
  readonly witness: Witness;
  readonly api: Api;
  readonly schedules: ScheduleLoad;
}

export interface CarriedOut {
  /** Names of the nodes that were struck. */
  readonly nodes: readonly string[];
  readonly detail: string;
}

const DRAIN_TIMEOUT_MS = 30_000;
const CHANGES_BEFORE_MS = 500;

/** Breaks something as planned, waits as planned, and puts it back. Gives what it did. */
export async function carryOut(fault: PlannedFault, ground: FaultGround): Promise<CarriedOut> {
  const { nodes, stores } = ground.cluster;
  const node = nodes[fault.node % nodes.length];
  if (node === undefined) throw new Error('there are no nodes');
  const forMs = `for ${(fault.lastsMs / 1000).toFixed(1)} s`;
  switch (fault.kind) {
    case 'rolling':
      for (const one of nodes) await restart(one);
      return { nodes: nodes.map(({ name }) => name), detail: 'SIGTERM and start, one after the other' };
    case 'rolling-kill':
      return await rollingWithKill(fault, ground);
    case 'drain':
      await drain(ground.cluster.url, node.name, DRAIN_TIMEOUT_MS);
      await restart(node);
      return { nodes: [node.name], detail: 'drained by the API, then SIGTERM and start' };
    case 'kill':
      await kill(node, ground);
      await delay(fault.awayMs);
      await node.start();
      return { nodes: [node.name], detail: `SIGKILL, away for ${(fault.awayMs / 1000).toFixed(1)} s` };
    case 'freeze':
      await freeze(node, fault.lastsMs, ground);
      return { nodes: [node.name], detail: `SIGSTOP ${forMs}` };
    case 'freeze-transaction':
      return await freezeWithinTransaction(node, fault, ground);
    case 'hole-transaction':
      return await holeWithinTransaction(node, fault, ground);
    case 'cut-changes':
      return await cutUnderChanges(node, fault, ground);
    case 'hog-reads':
      return { nodes: [node.name], detail: `${await hogReads(node.url, fault.lastsMs)}, ${forMs}` };
    case 'restart-redis':
    case 'restart-postgres': {
      const store = fault.kind === 'restart-redis' ? stores.redis : stores.postgres;
      await store.end(fault.hard);
      await delay(fault.lastsMs);
      await store.revive();
      return { nodes: [], detail: `${fault.hard ? 'kill -9' : 'stopped in order'}, away ${forMs}` };
    }
    case 'flush-redis':
      await stores.flushRedis();
      return { nodes: [], detail: 'FLUSHALL' };
    case 'lock-server-down': {
      const index = fault.node % stores.locks.length;
      await stores.locks[index]?.end(fault.hard);
      await delay(fault.lastsMs);
      await stores.locks[index]?.revive();
      return { nodes: [], detail: `lock server ${index + 1} of ${stores.locks.length} down ${forMs}` };
    }
    default:
      return await illPath(fault, node, ground);
  }
}

/** As a deployment does it: the next one only when this one is ready again. */
async function restart(node: ChaosNode): Promise<void> {
  await node.sigterm();
  await node.start();
}

async function kill(node: ChaosNode, { disturbances }: FaultGround): Promise<void> {
  const atMs = Date.now();
  disturbances.push({ node: node.name, kind: 'kill', fromMs: atMs, toMs: atMs });
  await node.kill9();
}

/** One node is stopped in order, and in the middle of that another one is killed; it is started again as a supervisor would. */
async function rollingWithKill(fault: PlannedFault, ground: FaultGround): Promise<CarriedOut> {
  const { nodes } = ground.cluster;
  let killed = '';
  for (const [index, node] of nodes.entries()) {
    const victim = nodes[(index + 1) % nodes.length];
    if (index !== fault.killAfterRestart % nodes.length || victim === undefined || victim === node) {
      await restart(node);
      continue;
    }
    killed = victim.name;
    const restarting = restart(node);
    await delay(fault.killDelayMs);
    await kill(victim, ground);
    await Promise.all([restarting, delay(fault.awayMs).then(() => victim.start())]);
  }
  return {
    nodes: nodes.map(({ name }) => name),
    detail: `SIGTERM one after the other, SIGKILL of ${killed} meanwhile`,
  };
}

async function freeze(node: ChaosNode, lastsMs: number, { disturbances }: FaultGround): Promise<void> {
  const disturbance: Disturbance = { node: node.name, kind: 'freeze', fromMs: Date.now(), toMs: Infinity };
  disturbances.push(disturbance);
  node.freeze();
  await delay(lastsMs);
  node.thaw();
  disturbance.toMs = Date.now();
}

/** Each try is a disturbance: also one that came between two transactions. */
async function freezeWithinTransaction(
  node: ChaosNode,
  { lastsMs }: PlannedFault,
  { disturbances, witness }: FaultGround,
): Promise<CarriedOut> {
  const within = await strikeWithinTransaction(node.name, witness, {
    strike: () => {
      disturbances.push({ node: node.name, kind: 'freeze', fromMs: Date.now(), toMs: Infinity });
      node.freeze();
    },
    undo: () => {
      node.thaw();
      endLast(disturbances);
    },
  });
  await delay(lastsMs);
  node.thaw();
  endLast(disturbances);
  return { nodes: [node.name], detail: `SIGSTOP ${within} for ${(lastsMs / 1000).toFixed(1)} s` };
}

async function holeWithinTransaction(
  node: ChaosNode,
  { lastsMs, survives }: PlannedFault,
  { cluster, disturbances, witness }: FaultGround,
): Promise<CarriedOut> {
  const set = (kind: 'hole' | 'open', drop = false): Promise<void> =>
    cluster.paths.set(node.name, ['postgres'], { kind }, drop);
  const within = await strikeWithinTransaction(node.name, witness, {
    strike: async () => {
      disturbances.push({ node: node.name, kind: 'cut', fromMs: Date.now(), toMs: Infinity });
      await set('hole');
    },
    undo: async () => {
      await set('open');
      endLast(disturbances);
    },
  });
  await delay(lastsMs);
  await set('open', !survives);
  endLast(disturbances);
  const after = survives ? 'alive' : 'gone';
  const detail = `postgres: a black hole ${within} for ${(lastsMs / 1000).toFixed(1)} s, its connections ${after} after`;
  return { nodes: [node.name], detail };
}

function endLast(disturbances: readonly Disturbance[]): void {
  const last = disturbances.at(-1);
  if (last !== undefined) last.toMs = Date.now();
}

const ONE_STORE: readonly Store[] = ['redis', 'postgres', 'locks'];

/** The node is asked for every cancel, edit, pause and delete of the load while it cannot reach one of its stores. */
async function cutUnderChanges(node: ChaosNode, fault: PlannedFault, ground: FaultGround): Promise<CarriedOut> {
  const { api, schedules, cluster, disturbances } = ground;
  const store = ONE_STORE[fault.latencyMs % ONE_STORE.length] ?? 'redis';
  const kind = fault.hard ? 'cut' : 'hole';
  api.sendChangesTo(node.url);
  schedules.hurries = true;
  try {
    // Some are under way when the path breaks.
    await delay(CHANGES_BEFORE_MS);
    disturbances.push({ node: node.name, kind: 'cut', fromMs: Date.now(), toMs: Infinity });
    await cluster.paths.set(node.name, [store], { kind });
    await delay(fault.lastsMs);
    await cluster.paths.set(node.name, [store], { kind: 'open' }, kind === 'hole' && !fault.survives);
    endLast(disturbances);
  } finally {
    api.sendChangesTo();
    schedules.hurries = false;
  }
  const what = kind === 'cut' ? 'cut' : 'a black hole';
  const detail = `${store}: ${what} for ${(fault.lastsMs / 1000).toFixed(1)} s under cancels, edits and deletes`;
  return { nodes: [node.name], detail };
}

interface Illness {
  readonly stores: readonly Store[];
  readonly mode: PathMode;
}

async function illPath(fault: PlannedFault, node: ChaosNode, ground: FaultGround): Promise<CarriedOut> {
  const { paths } = ground.cluster;
  const { stores, mode } = illnessOf(fault.kind, fault.latencyMs);
  // A slow path excuses nothing.
  const disturbance: Disturbance = { node: node.name, kind: 'cut', fromMs: Date.now(), toMs: Infinity };
  if (mode.kind !== 'slow') ground.disturbances.push(disturbance);
  await paths.set(node.name, stores, mode);
  await delay(fault.lastsMs);
  const drop = mode.kind === 'hole' && !fault.survives;
  await paths.set(node.name, stores, { kind: 'open' }, drop);
  disturbance.toMs = Date.now();
  const what = mode.kind === 'slow' ? `${mode.latencyMs} ms late` : mode.kind === 'cut' ? 'cut' : 'a black hole';
  const after = mode.kind !== 'hole' ? '' : drop ? ', its connections gone after' : ', its connections alive after';
  return {
    nodes: [node.name],
    detail: `${stores.join(', ')}: ${what} for ${(fault.lastsMs / 1000).toFixed(1)} s${after}`,
  };
}

function illnessOf(kind: FaultKind, latencyMs: number): Illness {
  switch (kind) {
    case 'cut-redis':
      return { stores: ['redis'], mode: { kind: 'cut' } };
    case 'hole-redis':
      return { stores: ['redis'], mode: { kind: 'hole' } };
    case 'slow-redis':
      return { stores: ['redis'], mode: { kind: 'slow', latencyMs } };
    case 'cut-postgres':
      return { stores: ['postgres'], mode: { kind: 'cut' } };
    case 'hole-postgres':
      return { stores: ['postgres'], mode: { kind: 'hole' } };
    case 'cut-locks':
      return { stores: ['locks'], mode: { kind: 'cut' } };
    default:
      return { stores: ['postgres', 'redis', 'locks'], mode: { kind: 'hole' } };
  }
}
