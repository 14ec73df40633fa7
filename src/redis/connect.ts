// Creates every Redis client: of the data Redis, from any form of its URL, and of the lock servers. Only this file sets
// their timeouts and retries.
//
// Every command fails at once while its server is unavailable, and none is repeated: a script that may have run must
// not run again, or a delivered message would be queued with its payload a second time. For a Redis Cluster this means
// that only redirections are followed, which did not run, and that every master is connected before commands are sent,
// since no command waits for a connection.

import { connect as connectSocket, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import { CarillonError } from '../domain/errors.js';
import { parseRedisUrl, type RedisForm } from './redis-url.js';
import type { ProcessTime } from '../domain/clock.js';
import { pause, within } from '../time/waiting.js';
import { SLOTS } from './slot-of-key.js';

export interface ConnectSettings {
  /** CARILLON_REDIS_URL in any of its forms. */
  readonly url: string;
  /** Timeout of connecting and of each command, in milliseconds. */
  readonly timeoutMs: number;
  /** Called once for each kind of error until a connection is ready again; the client reconnects by itself. */
  readonly onTrouble: (error: Error) => void;
}

/** Interval at which the map of slots is read, so that a master that no longer answers is noticed. */
const SLOTS_EVERY_MS = 2_000;
const MASTERS_POLL_MS = 20;

/**
 * Returns a client that is not connected yet: `openRedis` connects it. Throws INVALID_REQUEST when the URL cannot be
 * read.
 */
export function createRedis(settings: ConnectSettings): Redis | Cluster {
  const form = parseRedisUrl(settings.url);
  const redis = form.kind === 'cluster' ? clusterClient(form, settings) : serverClient(form, settings);
  reportTrouble(redis, settings.onTrouble);
  return redis;
}

/**
 * Returns a connection for subscriptions that is not connected yet: `openRedis` connects it, and `Subscriptions` renews
 * its subscriptions after it broke. In a Redis Cluster every node receives every message, so any node will do.
 */
export function createSubscriber(settings: ConnectSettings): Redis {
  const form = parseRedisUrl(settings.url);
  const redis =
    form.kind === 'cluster'
      ? new Redis({ ...commonOptions(settings), ...accessOptions(form), ...retrying(), Connector: anyOf(form) })
      : serverClient(form, settings);
  reportTrouble(redis, settings.onTrouble);
  return redis;
}

export interface LockServerSettings {
  readonly url: string;
  readonly timeoutMs: number;
  /** Called when the server cannot be reached, once until it can. */
  readonly onUnavailable: (error: Error) => void;
  readonly onBack: () => void;
}

/**
 * Returns the client of a lock server that is not connected yet: `openRedis` connects it. Unlike the connections of the
 * data Redis, it is not closed after a silence: a majority is enough, and a lock that is not answered in time counts as
 * refused.
 */
export function createLockServer({ url, timeoutMs, onUnavailable, onBack }: LockServerSettings): Redis {
  const client = new Redis(url, { ...withoutRetries(timeoutMs), ...retrying() });
  let isUnavailable = false;
  client.on('error', (error: Error) => {
    if (!isUnavailable) onUnavailable(error);
    isUnavailable = true;
  });
  client.on('ready', () => {
    if (isUnavailable) onBack();
    isUnavailable = false;
  });
  return client;
}

/**
 * Connects, and waits until every master is ready; a single server may take as long as it needs to load its data.
 * Throws REDIS_UNAVAILABLE when the connection is refused, and when Sentinels or a cluster, which are retried, take
 * longer than `timeoutMs`.
 */
export async function openRedis(redis: Redis | Cluster, timeoutMs: number, time: ProcessTime): Promise<void> {
  const withTimeout = (work: Promise<void>, otherwise: string): Promise<void> =>
    within(time, timeoutMs, work, () => new Error(`${otherwise} after ${timeoutMs} ms`));
  try {
    if (redis instanceof Cluster)
      await withTimeout(openCluster(redis, time), 'not every slot has a master that answers');
    else if (redis.options.sentinels) await withTimeout(redis.connect(), 'no Sentinel knows a primary that answers');
    else await redis.connect();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CarillonError('REDIS_UNAVAILABLE', `Redis cannot be reached: ${reason}`, { cause: error });
  }
}

async function openCluster(cluster: Cluster, time: ProcessTime): Promise<void> {
  await cluster.connect();
  while (cluster.status === 'ready' && !mastersAreReady(cluster)) {
    connectMasters(cluster);
    await pause(time, MASTERS_POLL_MS);
  }
}

/** Starts to connect the masters that have received no command yet. */
export function connectMasters(cluster: Cluster): void {
  for (const node of cluster.nodes('master')) if (node.status === 'wait') void node.connect().catch(() => undefined);
}

/** Whether each slot has a master and each of these its connection. */
function mastersAreReady(cluster: Cluster): boolean {
  if (cluster.status !== 'ready') return false;
  const ready = new Set(cluster.nodes('master').flatMap((node) => (node.status === 'ready' ? nodeKey(node) : [])));
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const master = cluster.slots[slot]?.[0];
    if (master === undefined || !ready.has(master)) return false;
  }
  return true;
}

/** Returns the name of a node in the client's map of slots. */
export function nodeKey({ options }: Redis): string {
  return `${options.host ?? ''}:${options.port ?? ''}`;
}

type ClusterForm = Extract<RedisForm, { kind: 'cluster' }>;
type Access = Omit<ClusterForm, 'kind' | 'nodes'>;
/** Excludes `replyMapping`: replies keep their default shape. */
type Options = Omit<RedisOptions, 'replyMapping'>;

/** A cluster client that emits 'moved', with the slot, before it follows a redirection to another master. */
class RedirectedCluster extends Cluster {
  override handleError(error: Error, ttl: { value?: number }, handlers: unknown): void {
    const slot = /^MOVED (\d+) /.exec(error.message)?.[1];
    if (slot !== undefined) this.emit('moved', Number(slot));
    super.handleError(error, ttl, handlers);
  }
}

function clusterClient(form: ClusterForm, settings: ConnectSettings): Cluster {
  const cluster = new RedirectedCluster(
    form.nodes.map(({ host, port }) => ({ host, port })),
    {
      lazyConnect: true,
      enableOfflineQueue: false,
      // The check would run before any connection exists, and no command waits for one. `openRedis` checks instead.
      enableReadyCheck: false,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshInterval: SLOTS_EVERY_MS,
      slotsRefreshTimeout: settings.timeoutMs,
      clusterRetryStrategy: pauseMs,
      // An unavailable master keeps its slots, so that its commands fail at once instead of being sent to other nodes.
      clusterNodeRetryStrategy: pauseMs,
      // Certificates name hosts.
      ...(form.tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
      redisOptions: { ...commonOptions(settings), ...accessOptions(form) },
    },
  );
  cluster.on('+node', (node: Redis) => {
    // After the command that discovered the node, which may wait for the connection.
    setImmediate(() => {
      if (node.options.readOnly !== true && node.status === 'wait') void node.connect().catch(() => undefined);
    });
  });
  return cluster;
}

function serverClient(form: Exclude<RedisForm, ClusterForm>, settings: ConnectSettings): Redis {
  const options: Options = {
    ...commonOptions(settings),
    ...retrying(),
    // A demoted primary keeps its connections and refuses every write: reconnecting finds the new primary.
    reconnectOnError: (error) => /^(?:READONLY|MASTERDOWN)/.test(error.message),
  };
  if (form.kind === 'server') return new Redis(form.url, options);
  return new Redis({
    ...options,
    ...accessOptions(form),
    sentinels: form.sentinels.map(({ host, port }) => ({ host, port })),
    name: form.name,
    db: form.db,
    sentinelCommandTimeout: settings.timeoutMs,
    sentinelRetryStrategy: pauseMs,
    ...(form.sentinelUsername === '' ? {} : { sentinelUsername: form.sentinelUsername }),
    ...(form.sentinelPassword === '' ? {} : { sentinelPassword: form.sentinelPassword }),
    ...(form.tls ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  });
}

function commonOptions({ timeoutMs }: ConnectSettings): Options {
  // A connection without any answer is closed, and the server is looked up again.
  return { ...withoutRetries(timeoutMs), socketTimeout: 2 * timeoutMs };
}

/** Connects lazily; a command that is not answered in time fails and is never sent again. */
function withoutRetries(timeoutMs: number): Options {
  return {
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
  };
}

function retrying(): Options {
  return { enableOfflineQueue: false, retryStrategy: pauseMs };
}

function accessOptions({ username, password, tls }: Access): Options {
  return {
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
  };
}

function pauseMs(attempt: number): number {
  return Math.min(50 * attempt, 1_000);
}

function reportTrouble(redis: Redis | Cluster, onTrouble: (error: Error) => void): void {
  // One report for each kind of error, not one for each try to connect.
  const reported = new Set<string>();
  const report = (error: Error): void => {
    if (!reported.has(error.message)) onTrouble(error);
    reported.add(error.message);
  };
  const forget = (): void => reported.clear();
  redis.on('error', report);
  redis.on('ready', forget);
  if (!(redis instanceof Cluster)) return;
  redis.on('node error', report);
  redis.on('+node', (node: Redis) => node.on('ready', forget));
}

/** Connects to the nodes in turn, the next one at each try. */
function anyOf(form: ClusterForm): NonNullable<RedisOptions['Connector']> {
  let tries = 0;
  return class extends AbstractConnector {
    constructor() {
      super(2_000);
    }

    connect(): Promise<Socket> {
      this.connecting = true;
      const target = form.nodes[tries++ % form.nodes.length] ?? { host: '', port: 0 };
      const stream = form.tls ? connectTls({ ...target, servername: target.host }) : connectSocket(target);
      stream.once('error', (error: Error) => (this.firstError = error));
      this.stream = stream;
      return Promise.resolve(stream);
    }
  };
}
