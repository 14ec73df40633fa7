// A node: its clients and its listener, around the core that compose/assemble-node.ts builds.

import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { ConsolePage } from './admin/page.js';
import { buildApp } from './api/app.js';
import type { ClusterView, Readiness } from './api/services.js';
import type { Config } from './config.js';
import { createHttpClient } from './delivery/http-client.js';
import { assembleNode, type NodeCore } from './compose/assemble-node.js';
import { pooledRandom } from './compose/random.js';
import { Closers } from './compose/closers.js';
import { makeConsole, pageFolder } from './compose/console.js';
import { servedShards, watchLevels } from './compose/figures.js';
import { heapLimitMb } from './compose/heap.js';
import { makeNodeStats, makeHooks, type NodeStats } from './compose/hooks.js';
import type { NodePorts } from './compose/ports.js';
import { processTime } from './time/process-time.js';
import { openStores, type Stores, watchClocks } from './compose/stores.js';
import type { ClockCheck } from './postgres/clock-check.js';
import { Maintenance } from './postgres/maintenance.js';
import { NodeMetrics } from './telemetry/metrics.js';
import { atMost, pause } from './time/waiting.js';

export interface Node {
  /** The address of the API, as http://host:port. */
  readonly url: string;
  /** Drains, hands over every shard and stops. May be called again; then it waits for the same end. */
  stop(): Promise<void>;
}

/** How long a stopping node waits for its answers to be sent. */
const CLOSE_MS = 2_000;

const random = pooledRandom();
const time = processTime;

/**
 * Starts a node: migrates, acquires its shards, listens. Throws when a store cannot be reached or does not match the
 * settings.
 */
export async function startNode(config: Config, log: Logger): Promise<Node> {
  const closers = new Closers(log);
  try {
    return await startWith(config, log, closers);
  } catch (error) {
    // Failures of closing were logged; the caller gets the reason why the node did not start.
    await closers.close().catch(() => undefined);
    throw error;
  }
}

async function startWith(config: Config, log: Logger, closers: Closers): Promise<Node> {
  const identity = `${config.CARILLON_NODE_NAME}-${randomUUID().slice(0, 8)}`;
  const stores = await openStores({ config, identity, time, random, log, closers });
  const { pools, clients, clock } = stores;
  const metrics = new NodeMetrics(config.CARILLON_SHARDS);
  closers.add('metrics', () => metrics.stop());
  const clocks = watchClocks({ database: pools.work, clock, config, time, log });
  closers.add('clock check', () => clocks.stop());
  const stats = makeNodeStats(identity, clock, config.CARILLON_LEASE_MS);
  const ports = makePorts({ config, log, identity, stores, stats, metrics, closers });
  const maintenance = makeMaintenance(ports, clocks);
  closers.add('maintenance', () => maintenance.stop());
  const core = assembleNode(ports);
  closers.add('the membership of the cluster', () => core.stop());
  watchLevels(metrics, { ...core, redis: clients.redis, clocks });
  const served = await serve({ ports, stores, core, stats, metrics, closers });
  maintenance.start();
  clocks.start();
  const url = urlOf(config, served.port);
  log.info({ identity, url, heapLimitMb: heapLimitMb() }, 'ready');

  const stop = async (): Promise<void> => {
    served.stopping();
    const left = pause(time, config.CARILLON_LEAVE_MS);
    try {
      await core.leave();
      await left;
    } finally {
      await closers.close();
    }
    log.info('stopped');
  };
  let stopped: Promise<void> | null = null;
  return { url, stop: () => (stopped ??= stop()) };
}

interface Dependencies {
  readonly config: Config;
  readonly log: Logger;
  readonly identity: string;
  readonly stores: Stores;
  readonly stats: NodeStats;
  readonly metrics: NodeMetrics;
  readonly closers: Closers;
}

function makePorts({ config, log, identity, stores, stats, metrics, closers }: Dependencies): NodePorts {
  const { pools, clients, clock } = stores;
  const http = createHttpClient({
    time,
    allowPrivate: config.CARILLON_ALLOW_PRIVATE_DESTINATIONS,
    // actor/admission.ts decides beforehand, per tenant, who may open one.
    connectionsPerOrigin: config.CARILLON_CONCURRENCY,
    keepBytes: config.CARILLON_RESPONSE_KEPT_BYTES,
    maxResponseHeaderBytes: config.CARILLON_RESPONSE_HEADER_MAX_BYTES,
    onRefused: (host, addresses) => log.debug({ host, addresses }, 'a destination resolves to private addresses'),
  });
  closers.add('deliveries', () => http.close());
  return {
    config,
    identity,
    database: pools.work,
    accepts: pools.accepts,
    redis: clients.redis,
    subscriber: clients.subscriber,
    lockServers: clients.lockServers,
    clock,
    time,
    random,
    http,
    log,
    hooks: makeHooks(metrics, stats, clock, log),
  };
}

function makeMaintenance({ database, clock, config, log }: NodePorts, clocks: ClockCheck): Maintenance {
  const settings = {
    time,
    everyMs: config.CARILLON_MAINTENANCE_EVERY_MS,
    summarizeEveryMs: config.CARILLON_SUMMARIZE_EVERY_MS,
    retentionMs: config.CARILLON_RETENTION_MS,
    delayMaxMs: config.CARILLON_DELAY_MAX_MS,
  };
  return new Maintenance(database, clock, settings, log, clocks);
}

interface Served {
  readonly port: number;
  /** Makes the node report that it is leaving. */
  stopping(): void;
}

/** Listens, then joins the cluster: a node that cannot listen must not acquire shards from one that can. */
async function serve(parts: {
  ports: NodePorts;
  stores: Stores;
  core: NodeCore;
  stats: NodeStats;
  metrics: NodeMetrics;
  closers: Closers;
}): Promise<Served> {
  const { ports, stores, core, stats, metrics, closers } = parts;
  const { config, log, identity, clock, redis } = ports;
  const state = { stopping: false, joined: false };
  const app = buildApp({
    config,
    logger: log,
    clock,
    time,
    random,
    database: stores.pools.accepts,
    reads: stores.pools.reads,
    intake: core.intake,
    cluster: clusterView(identity, core),
    metrics,
    health: { ready: () => readiness(core, config, state), leaving: () => state.stopping },
    page: new ConsolePage(pageFolder()),
  });
  closers.add('the API', () => atMost(time, CLOSE_MS, app.close()));
  const admin = makeConsole({ config, log, identity, database: ports.database, redis, clock, time, core, stats });
  closers.add('the console', () => admin.stop());
  admin.sockets.attach(app.server);
  await app.listen({ host: config.CARILLON_HOST, port: config.CARILLON_PORT });
  await core.start();
  await admin.start();
  state.joined = true;
  const { port } = app.server.address() as AddressInfo;
  return { port, stopping: () => (state.stopping = true) };
}

function readiness(
  { membership, recorder, holder }: NodeCore,
  config: Config,
  { stopping, joined }: { readonly stopping: boolean; readonly joined: boolean },
): Readiness {
  if (stopping || membership.isDraining) return { ok: false, why: 'this node is draining' };
  if (!recorder.isAvailable) return { ok: false, why: 'PostgreSQL is unavailable' };
  if (!joined) return { ok: false, why: 'this node has not joined the cluster yet' };
  return { ok: true, shards: { served: servedShards(membership, holder), total: config.CARILLON_SHARDS } };
}

/** The cluster as the API reports it. */
function clusterView(identity: string, { membership, channels }: NodeCore): ClusterView {
  return {
    members: () => membership.view?.members ?? [],
    owners: () => membership.view?.owners ?? [],
    drain: async (id) => {
      if (id === identity) void membership.drain();
      else await channels.requestDrain(id);
    },
  };
}

function urlOf({ CARILLON_HOST: host }: Config, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
