// Builds the parts of the console in a node: the publisher, the cluster watch, and the sockets of viewers.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { TokenVerdict } from '../admin/admin-socket.js';
import { ClusterWatch } from '../admin/cluster-watch.js';
import { type NodeReport, readNodeReport, readWatch } from '../admin/node-report.js';
import { AdminSocketServer } from '../admin/socket-server.js';
import { StoreProbe } from '../admin/store-probe.js';
import { StatsPublisher } from '../admin/stats-publisher.js';
import { Authenticator, bearerToken, ConfiguredAdmin } from '../api/auth.js';
import { callerIpOfRaw } from '../api/request-source.js';
import { adminOrigins, type Config } from '../config.js';
import type { Clock, ProcessTime } from '../domain/clock.js';
import { ConsoleChannels } from '../redis/console-channels.js';
import { readLevels, readMemory } from '../redis/levels.js';
import type { Database } from '../postgres/database.js';
import type { NodeCore } from './assemble-node.js';
import type { NodeStats } from './hooks.js';

/** The token of an open socket is checked again as often as cached tokens expire, within these bounds. */
const RECHECK_MS = { min: 1_000, max: 60_000 } as const;
const GROUPS = ['accept', 'outcome', 'fire'] as const;

export interface NodeConsole {
  readonly sockets: AdminSocketServer;
  /** Subscribes to watchers; must be called after the cluster was started. */
  start(): Promise<void>;
  /** Closes the sockets and publishes nothing afterwards. */
  stop(): Promise<void>;
}

interface ConsoleParts {
  readonly config: Config;
  readonly log: Logger;
  readonly identity: string;
  readonly database: Database;
  readonly redis: Redis | Cluster;
  readonly clock: Clock;
  readonly time: ProcessTime;
  readonly core: NodeCore;
  readonly stats: NodeStats;
}

type MadeParts = ConsoleParts & { readonly channels: ConsoleChannels };

export function makeConsole(dependencies: ConsoleParts): NodeConsole {
  const { config, identity, redis, time, core, stats } = dependencies;
  const channels = new ConsoleChannels(redis, core.subscriptions, config.CARILLON_REDIS_PREFIX);
  const parts = { ...dependencies, channels };
  const watch = makeWatch(parts, (by, fresh) => {
    // This node receives its own reports without Redis.
    statsPublisher.asked(fresh);
    channels.watch(JSON.stringify({ by, fresh }));
  });
  const statsPublisher = makeStatsPublisher(parts, (report) => {
    watch.receive(report);
    channels.pulse(JSON.stringify(report));
  });
  stats.onView = (view) => watch.rosterRead(view);
  stats.events.listen((event, isOurs) => {
    watch.happened(event);
    if (isOurs) statsPublisher.happened(event);
  });
  const sockets = new AdminSocketServer({
    watch,
    checkToken: tokenChecker(parts),
    bearerToken,
    addressOf: callerIpOfRaw(config),
    origins: adminOrigins(config),
    socketsMax: config.CARILLON_ADMIN_SOCKETS_MAX,
    anonymous: {
      max: config.CARILLON_ADMIN_ANONYMOUS_MAX,
      perNetworkMax: config.CARILLON_ADMIN_ANONYMOUS_PER_ADDRESS_MAX,
    },
    helloMs: config.CARILLON_ADMIN_HELLO_MS,
    recheckMs: Math.min(Math.max(config.CARILLON_TOKEN_CACHE_MS, RECHECK_MS.min), RECHECK_MS.max),
    queueBytes: config.CARILLON_ADMIN_QUEUE_BYTES,
    time,
  });
  return {
    sockets,
    start: () =>
      channels.listen((text) => {
        const asked = readWatch(text);
        if (asked !== null && asked.by !== identity) statsPublisher.asked(asked.fresh);
      }),
    stop: async () => {
      watch.stop();
      statsPublisher.stop();
      await sockets.stop();
    },
  };
}

function makeWatch(parts: MadeParts, ask: (by: string, fresh: boolean) => void): ClusterWatch {
  const { config, log, identity, database, redis, clock, time, channels } = parts;
  const { recorder } = parts.core;
  const watch: ClusterWatch = new ClusterWatch({
    cluster: {
      shards: config.CARILLON_SHARDS,
      leaseMs: config.CARILLON_LEASE_MS,
      heartbeatMs: config.CARILLON_HEARTBEAT_MS,
      version: ownVersion(),
      servedBy: identity,
    },
    clock,
    time,
    log,
    probe: new StoreProbe({
      time,
      isTableUp: () => recorder.isAvailable,
      isQueueUp: () => redis.status === 'ready',
      pingPostgres: () => database.text('select 1', []),
      pingRedis: () => readMemory(redis),
    }),
    ask: ({ by, fresh }) => ask(by, fresh),
    listen: (on) =>
      on
        ? channels.subscribeToReports((text) => {
            const report = readNodeReport(text);
            if (report !== null && report.node !== identity) watch.receive(report);
          })
        : channels.unsubscribeFromReports(),
    readLevels: (shards) => readLevels(redis, config.CARILLON_REDIS_PREFIX, shards),
  });
  return watch;
}

function makeStatsPublisher(parts: ConsoleParts, tell: (report: NodeReport) => void): StatsPublisher {
  const { config, log, identity, redis, time, stats } = parts;
  const { holder, sweeper, recorder, enqueuer } = parts.core;
  return new StatsPublisher({
    log,
    node: identity,
    time,
    figures: stats.figures,
    events: stats.events,
    levels: {
      inFlight: () => holder.inFlight,
      capacity: config.CARILLON_CONCURRENCY,
      ownedShards: () => holder.owned(),
      sweepBacklog: () => sweeper.backlog,
      isTableUp: () => recorder.isAvailable,
      isQueueUp: () => redis.status === 'ready',
      tableBacklog: () => GROUPS.reduce((sum, kind) => sum + recorder.backlog(kind), 0),
      enqueuer: () => enqueuer.backlog,
    },
    readLevels: (shards) => readLevels(redis, config.CARILLON_REDIS_PREFIX, shards),
    tell,
  });
}

function tokenChecker({ config, database, clock, time }: ConsoleParts): (token: string) => Promise<TokenVerdict> {
  const authenticator = new Authenticator(database, clock, config.CARILLON_TOKEN_CACHE_MS);
  const configuredAdmin = new ConfiguredAdmin(config.CARILLON_ADMIN_TOKEN, authenticator, time);
  return async (token) => {
    if (await configuredAdmin.admits(token)) return 'admin';
    try {
      return (await authenticator.find(token))?.role ?? 'unknown';
    } catch {
      return 'unavailable';
    }
  };
}

/** The root of the sources, or of the compiled files. */
const ROOT = new URL('../../', import.meta.url);
const IS_BUILT = ROOT.pathname.endsWith('/dist/');

/** Returns the folder of the built console, which may not exist. */
export function pageFolder(): string {
  return fileURLToPath(new URL(IS_BUILT ? 'web/' : 'dist/web/', ROOT));
}

function ownVersion(): string {
  const file = new URL(IS_BUILT ? '../package.json' : 'package.json', ROOT);
  if (!existsSync(file)) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version ?? 'unknown';
}
