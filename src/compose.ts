// Puts a node together: the only file that makes clients and hands them on.

import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { ConsolePage } from './admin/page.js';
import { buildApp } from './api/app.js';
import type { ClusterView, Readiness } from './api/services.js';
import type { Config } from './config.js';
import { createHttpClient } from './delivery/http-client.js';
import { CarillonError } from './domain/errors.js';
import { NodeIntake } from './intake/node-intake.js';
import { ensureAccess } from './compose/access.js';
import { actorParts } from './compose/actor-parts.js';
import { pooledChance } from './compose/chance.js';
import { openPools, type DatabasePools } from './compose/database-pools.js';
import { makeCluster, processTime, type NodeCluster } from './compose/cluster.js';
import { makeConsole, pageFolder } from './compose/console.js';
import { servedShards, watchLevels } from './compose/figures.js';
import { heapLimitMb } from './compose/heap.js';
import { makeDiary, makeHooks } from './compose/hooks.js';
import { makeSweeper } from './compose/sweeper.js';
import { tierBounds } from './compose/tier-bounds.js';
import { HORIZON_MARGIN_MS } from './actor/sweeps/promote.js';
import { queueTimes } from './compose/times.js';
import { createRedis, openRedis } from './queue/connect.js';
import { Offers } from './queue/offers.js';
import { nodeClock, RedisClock } from './queue/redis-clock.js';
import { watchRedis } from './queue/redis-watch.js';
import { ShardQueue } from './queue/shard-queue.js';
import { ClockCheck } from './table/clock-check.js';
import type { Database } from './table/database.js';
import { Maintenance, partitionBounds } from './table/maintenance.js';
import { migrate } from './table/migrate.js';
import { Recorder } from './table/recorder.js';
import { NodeMetrics } from './telemetry/metrics.js';

export interface Node {
  /** Where the API listens, as http://host:port. */
  readonly url: string;
  /** Drains, hands everything back and ends. May be called again; then it waits for the same end. */
  stop(): Promise<void>;
}

const CLOCKS_EVERY_MS = 60_000;
/** How long a stopping node waits for its answers to go out. */
const CLOSE_MS = 2_000;

const chance = pooledChance();

/** Starts a node: migrates, takes its shards, listens. Throws when a store cannot be reached or does not fit the settings. */
export async function startNode(config: Config, log: Logger): Promise<Node> {
  requireStores(config);
  const identity = `${config.CARILLON_NODE_NAME}-${randomUUID().slice(0, 8)}`;
  const pools = openPools(config, identity, log);
  const metrics = new NodeMetrics(config.CARILLON_SHARDS);
  const redis = createRedis({
    url: config.CARILLON_REDIS_URL,
    timeoutMs: config.CARILLON_REDIS_TIMEOUT_MS,
    onTrouble: (error) => log.warn({ err: error }, 'the queue (Redis) cannot be reached'),
  });
  try {
    return await startWith({ config, log, identity, pools, redis, metrics });
  } catch (error) {
    metrics.stop();
    redis.disconnect();
    await pools.close();
    throw error;
  }
}

interface Stores {
  readonly config: Config;
  readonly log: Logger;
  /** Random for each process; the configured name is a label. */
  readonly identity: string;
  readonly pools: DatabasePools;
  readonly redis: Redis | Cluster;
  readonly metrics: NodeMetrics;
}

async function startWith({ config, log, identity, pools, redis, metrics }: Stores): Promise<Node> {
  const { work: database, accepts, reads } = pools;
  await openRedis(redis, config.CARILLON_REDIS_TIMEOUT_MS);
  const clock = new RedisClock(redis, (skewMs) => {
    log.warn({ skewMs }, 'the clocks of the Redis masters differ: work in their shards is late or early by as much');
  });
  await clock.start();
  await migrate(database, { shards: config.CARILLON_SHARDS, ...partitionBounds(clock.nowMs(), delayMax(config)) });
  await ensureAccess(database, config, chance, log);
  void database.warm();
  void accepts.warm();

  const queue = new ShardQueue(redis, config.CARILLON_REDIS_PREFIX, queueTimes(config), clock);
  const clocks = watchClocks(database, clock, config, log);
  const diary = makeDiary(identity, clock, config.CARILLON_LEASE_MS);
  const hooks = makeHooks(metrics, diary, clock, log);
  const sweeper = makeSweeper({ config, log, database, queue, clock, hooks });
  const recorder = new Recorder(database, clock, {
    accepts,
    deduplicationMs: config.CARILLON_DEDUPLICATION_MS,
    idempotencyMs: config.CARILLON_IDEMPOTENCY_MS,
    onAvailability: (available, error) => {
      if (!available) {
        log.error({ err: error }, 'the table is away: claims stop, outcomes are held');
        return;
      }
      log.info('the table is back');
      sweeper.hasten();
    },
    onRefusal: (error, id) => log.error({ err: error, message: id }, 'the table refused what a destination answered'),
    onGroup: (kind, items, durationMs) => metrics.grouped(kind, items, durationMs),
  });
  const http = createHttpClient({
    allowPrivate: config.CARILLON_ALLOW_PRIVATE_DESTINATIONS,
    // Who may open one is decided before (actor/admission.ts), for each tenant by itself.
    connectionsPerOrigin: config.CARILLON_CONCURRENCY,
    keepBytes: config.CARILLON_RESPONSE_KEPT_BYTES,
    maxResponseHeaderBytes: config.CARILLON_RESPONSE_HEADER_MAX_BYTES,
    onRefused: (host, addresses) => log.debug({ host, addresses }, 'a destination resolves to private addresses'),
  });
  const cluster = makeCluster({
    config,
    log,
    identity,
    database,
    redis,
    queue,
    sweeper,
    events: hooks.membership,
    recorder,
  });
  const { membership, wake } = cluster;
  const offers = new Offers(queue, wake, {
    onFault: (error) => log.error({ err: error }, 'an offer to the queue failed'),
    onRefused: (error) => log.error({ err: error }, 'the queue takes no work: accepts go to the table only'),
    onCaughtUp: (leftToSweeps) => log.info({ leftToSweeps }, 'the queue takes work again'),
  });
  const stores = { database, queue, offers, recorder };
  const parts = actorParts({ ...stores, config, log, identity, http, clock, cluster, metrics, hooks, chance });
  const admin = makeConsole({ ...stores, config, log, identity, redis, clock, cluster, diary, sweeper });
  watchLevels(metrics, { ...cluster, slots: parts.slots, recorder, redis, offers, sweeper, clocks });
  const intake = new NodeIntake({
    database: accepts,
    recorder,
    offers,
    clock,
    time: processTime,
    chance,
    settings: {
      shards: config.CARILLON_SHARDS,
      tiers: tierBounds(config),
      // Whatever may be due before a horizon that is completed.
      offerWithinMs: 2 * (config.CARILLON_HORIZON_MS + config.CARILLON_PROMOTE_EVERY_MS + HORIZON_MARGIN_MS),
      inlineMaxBytes: config.CARILLON_INLINE_MAX_BYTES,
      payloadFreshMs: queueTimes(config).payloadFreshMs,
      idempotencyMs: config.CARILLON_IDEMPOTENCY_MS,
    },
    onAccept: hooks.onAccept,
    onTier: hooks.onTier,
  });
  const maintenance = new Maintenance(
    database,
    clock,
    {
      everyMs: config.CARILLON_MAINTENANCE_EVERY_MS,
      summarizeEveryMs: config.CARILLON_SUMMARIZE_EVERY_MS,
      retentionMs: config.CARILLON_RETENTION_MS,
      ...delayMax(config),
    },
    log,
    clocks,
  );

  let stopping = false;
  let joined = false;
  const ready = (): Readiness => {
    if (stopping || membership.isDraining) return { ok: false, why: 'this node is draining' };
    if (!recorder.isAvailable) return { ok: false, why: 'the table (PostgreSQL) is away' };
    if (!joined) return { ok: false, why: 'this node has not joined the cluster yet' };
    return { ok: true, shards: { served: servedShards(membership, cluster.holder), total: config.CARILLON_SHARDS } };
  };
  const view = clusterView(identity, cluster);
  const health = { ready, leaving: () => stopping };
  const page = new ConsolePage(pageFolder());
  const seen = { clock, chance, database: accepts, reads, intake, cluster: view, metrics };
  const app = buildApp({ ...seen, config, logger: log, health, page });

  let unwatch = (): void => undefined;
  admin.sockets.attach(app.server);
  // A node that cannot listen must not take the shards from one that can.
  await app.listen({ host: config.CARILLON_HOST, port: config.CARILLON_PORT });
  try {
    unwatch = watchDataRedis(redis, cluster, offers, log);
    await cluster.start(parts);
    await admin.start();
    joined = true;
  } catch (error) {
    await admin.stop();
    await app.close();
    cluster.disconnect();
    throw error;
  }
  maintenance.start();
  clocks.start();
  const { port } = app.server.address() as AddressInfo;
  const url = `http://${config.CARILLON_HOST.includes(':') ? `[${config.CARILLON_HOST}]` : config.CARILLON_HOST}:${port}`;
  log.info({ identity, url, heapLimitMb: heapLimitMb() }, 'ready');

  const stop = async (): Promise<void> => {
    stopping = true;
    const left = new Promise((resolve) => setTimeout(resolve, config.CARILLON_LEAVE_MS));
    // What cannot be recorded by then, because the table is away, is left to the next owner.
    const limit = setTimeout(() => recorder.stop(), config.CARILLON_DRAIN_MS);
    await membership.stop();
    clearTimeout(limit);
    await left;
    await admin.stop();
    await Promise.race([app.close(), new Promise((resolve) => setTimeout(resolve, CLOSE_MS))]);
    recorder.stop();
    await offers.stop();
    await maintenance.stop();
    await http.close();
    clock.stop();
    clocks.stop();
    metrics.stop();
    unwatch();
    cluster.disconnect();
    redis.disconnect();
    await pools.close();
    log.info('stopped');
  };
  let stopped: Promise<void> | null = null;
  return { url, stop: () => (stopped ??= stop()) };
}

/** Looks each minute whether the clocks agree, and says when that changes. */
function watchClocks(database: Database, clock: RedisClock, config: Config, log: Logger): ClockCheck {
  return new ClockCheck(database, clock, nodeClock, {
    everyMs: CLOCKS_EVERY_MS,
    toleranceMs: config.CARILLON_CLOCK_TOLERANCE_MS,
    onChange: (differences) => {
      if (differences === null) log.info('the clocks of Redis, PostgreSQL and this node agree again');
      else
        log.error(
          differences,
          'the clocks of PostgreSQL and this node differ from that of Redis, by which work is due',
        );
    },
  });
}

/** What the API tells about the cluster. */
function clusterView(identity: string, { membership, channels }: NodeCluster): ClusterView {
  return {
    members: () => membership.view?.members ?? [],
    owners: () => membership.view?.owners ?? [],
    drain: async (id) => {
      if (id === identity) void membership.drain();
      else await channels.askToDrain(id);
    },
  };
}

function requireStores(config: Config): void {
  const missing = (['CARILLON_DATABASE_URL', 'CARILLON_REDIS_URL'] as const).filter((name) => config[name] === '');
  if (missing.length > 0) {
    throw new CarillonError('INVALID_REQUEST', `configuration: ${missing.join(' and ')} must be set`);
  }
}

function delayMax(config: Config): { delayMaxMs: number } {
  return { delayMaxMs: config.CARILLON_DELAY_MAX_MS };
}

/** After Redis was away every shard is fenced anew before its payloads are believed again, then the offers that waited are made. */
function watchDataRedis(redis: Redis | Cluster, cluster: NodeCluster, offers: Offers, log: Logger): () => void {
  const { holder, membership } = cluster;
  return watchRedis(redis, {
    onAway: () => holder.redisIsAway(),
    onBack: async () => {
      await holder.redisIsBack();
      // What was given up meanwhile is taken again.
      membership.nudge();
      await offers.retry();
    },
    onFailure: (error) => log.warn({ err: error }, 'the queue is back, its shards could not be fenced yet'),
  });
}
