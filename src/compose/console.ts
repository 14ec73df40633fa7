// Makes what the console needs of a node: who tells the others, who hears them, and the sockets of those who watch.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { TokenVerdict } from '../admin/admin-socket.js';
import { ClusterWatch } from '../admin/cluster-watch.js';
import { type Pulse, readPulse, readWatch } from '../admin/pulse.js';
import { AdminSocketServer } from '../admin/socket-server.js';
import { StoreProbe } from '../admin/store-probe.js';
import { Teller } from '../admin/teller.js';
import { Authenticator, bearerToken, ConfiguredAdmin } from '../api/auth.js';
import { callerIpOfRaw } from '../api/request-source.js';
import { adminOrigins, type Config } from '../config.js';
import type { Clock } from '../domain/clock.js';
import { ConsoleChannels } from '../redis/console-channels.js';
import { readLevels, readMemory } from '../redis/levels.js';
import type { Database } from '../postgres/database.js';
import type { NodeCore } from './assemble-node.js';
import type { NodeDiary } from './hooks.js';
import { processTime } from './process-time.js';

/** A token of an open socket is checked again as often as nodes forget tokens, within these bounds. */
const RECHECK_MS = { min: 1_000, max: 60_000 } as const;
const GROUPS = ['accept', 'outcome', 'fire'] as const;

export interface NodeConsole {
  readonly sockets: AdminSocketServer;
  /** Hears of watchers; after the cluster was started. */
  start(): Promise<void>;
  /** Closes the sockets and is silent from then on. */
  stop(): Promise<void>;
}

interface ConsoleParts {
  readonly config: Config;
  readonly log: Logger;
  readonly identity: string;
  readonly database: Database;
  readonly redis: Redis | Cluster;
  readonly clock: Clock;
  readonly core: NodeCore;
  readonly diary: NodeDiary;
}

type MadeParts = ConsoleParts & { readonly channels: ConsoleChannels };

export function makeConsole(given: ConsoleParts): NodeConsole {
  const { config, identity, redis, core, diary } = given;
  const channels = new ConsoleChannels(redis, core.subscriptions, config.CARILLON_REDIS_PREFIX);
  const parts = { ...given, channels };
  const watch = makeWatch(parts, (by, fresh) => {
    // This node needs no Redis to hear itself.
    teller.asked(fresh);
    channels.watch(JSON.stringify({ by, fresh }));
  });
  const teller = makeTeller(parts, (pulse) => {
    watch.hear(pulse);
    channels.pulse(JSON.stringify(pulse));
  });
  diary.onView = (view) => watch.rosterRead(view);
  diary.events.listen((event, isOurs) => {
    watch.happened(event);
    if (isOurs) teller.happened(event);
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
    monotonicMs: () => processTime.monotonicMs(),
  });
  return {
    sockets,
    start: () =>
      channels.listen((text) => {
        const asked = readWatch(text);
        if (asked !== null && asked.by !== identity) teller.asked(asked.fresh);
      }),
    stop: async () => {
      watch.stop();
      teller.stop();
      await sockets.stop();
    },
  };
}

function makeWatch(parts: MadeParts, ask: (by: string, fresh: boolean) => void): ClusterWatch {
  const { config, log, identity, database, redis, clock, channels } = parts;
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
    time: processTime,
    log,
    probe: new StoreProbe({
      time: processTime,
      isTableUp: () => recorder.isAvailable,
      isQueueUp: () => redis.status === 'ready',
      askTable: () => database.text('select 1', []),
      askQueue: () => readMemory(redis),
    }),
    ask: ({ by, fresh }) => ask(by, fresh),
    listen: (on) =>
      on
        ? channels.hearPulses((text) => {
            const pulse = readPulse(text);
            if (pulse !== null && pulse.node !== identity) watch.hear(pulse);
          })
        : channels.hearNoPulses(),
    readLevels: (shards) => readLevels(redis, config.CARILLON_REDIS_PREFIX, shards),
  });
  return watch;
}

function makeTeller(parts: ConsoleParts, tell: (pulse: Pulse) => void): Teller {
  const { config, log, identity, redis, diary } = parts;
  const { holder, sweeper, recorder, offers } = parts.core;
  return new Teller({
    log,
    node: identity,
    time: processTime,
    figures: diary.figures,
    events: diary.events,
    levels: {
      inFlight: () => holder.inFlight,
      capacity: config.CARILLON_CONCURRENCY,
      ownedShards: () => holder.owned(),
      sweepBacklog: () => sweeper.backlog,
      isTableUp: () => recorder.isAvailable,
      isQueueUp: () => redis.status === 'ready',
      tableBacklog: () => GROUPS.reduce((sum, kind) => sum + recorder.backlog(kind), 0),
      offers: () => offers.backlog,
    },
    readLevels: (shards) => readLevels(redis, config.CARILLON_REDIS_PREFIX, shards),
    tell,
  });
}

function tokenChecker({ config, database, clock }: ConsoleParts): (token: string) => Promise<TokenVerdict> {
  const authenticator = new Authenticator(database, clock, config.CARILLON_TOKEN_CACHE_MS);
  const configuredAdmin = new ConfiguredAdmin(config.CARILLON_ADMIN_TOKEN, authenticator);
  return async (token) => {
    if (await configuredAdmin.admits(token)) return 'admin';
    try {
      return (await authenticator.find(token))?.role ?? 'unknown';
    } catch {
      return 'unavailable';
    }
  };
}

/** The root of the sources, or of what was compiled from them. */
const ROOT = new URL('../../', import.meta.url);
const IS_BUILT = ROOT.pathname.endsWith('/dist/');

/** Where the built page lies, if it was built. */
export function pageFolder(): string {
  return fileURLToPath(new URL(IS_BUILT ? 'web/' : 'dist/web/', ROOT));
}

function ownVersion(): string {
  const file = new URL(IS_BUILT ? '../package.json' : 'package.json', ROOT);
  if (!existsSync(file)) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version ?? 'unknown';
}
