// Makes every client of Redis: of the data Redis from its URL, whatever form that has, and of the lock servers. How long each waits and when
// it tries again is said here and nowhere else.
//
// All of them fail at once while a server is away, and repeat nothing: a script that may have run already must not be run again, or work
// that was delivered would be queued with its payload a second time. For a Redis Cluster that means that only redirections, which were not
// run, are followed; and that every master has its connection before commands come, since none waits for one.

import { connect as connectSocket, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import { CarillonError } from '../domain/errors.js';
import { parseRedisUrl, type RedisForm } from './redis-url.js';
import type { ProcessTime } from '../domain/clock.js';
import { pause, within } from '../time/waiting.js';

export interface ConnectSettings {
  /** CARILLON_REDIS_URL in any of its forms. */
  readonly url: string;
  /** Longest wait for a connection and for the answer to a command, in milliseconds. */
  readonly timeoutMs: number;
  /** Told once for each kind of trouble until a connection is there again; reconnecting goes on by itself. */
  readonly onTrouble: (error: Error) => void;
}

/** How often a cluster is asked which master has which slots, so that one that no longer answers is noticed. */
const SLOTS_EVERY_MS = 2_000;
const MASTERS_POLL_MS = 20;

/** A client that is not connected yet: `openRedis` connects it. Throws INVALID_REQUEST when the URL cannot be read. */
export function createRedis(settings: ConnectSettings): Redis | Cluster {
  const form = parseRedisUrl(settings.url);
  const redis = form.kind === 'cluster' ? clusterClient(form, settings) : serverClient(form, settings);
  reportTrouble(redis, settings.onTrouble);
  return redis;
}

/**
 * A connection for subscriptions, not connected yet: `openRedis` connects it. What it was subscribed to `Subscriptions` renews after it
 * broke. In a Redis Cluster every node hears everything, so any one of them will do.
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
  /** Told when it cannot be reached, once until it can. */
  readonly onUnavailable: (error: Error) => void;
  readonly onBack: () => void;
}

/**
 * A lock server's client, not connected yet: `openRedis` connects it. Its connection outlives a silence, unlike those of the data Redis: a
 * majority is enough, and a lock that is not answered in time counts as refused.
 */
export function createLockServer({ url, timeoutMs, onUnavailable: onAway, onBack }: LockServerSettings): Redis {
  const client = new Redis(url, { ...impatient(timeoutMs), ...retrying() });
  let isAway = false;
  client.on('error', (error: Error) => {
    if (!isAway) onAway(error);
    isAway = true;
  });
  client.on('ready', () => {
    if (isAway) onBack();
    isAway = false;
  });
  return client;
}

/**
 * Connects, and waits until every master is there; one server may take as long as it needs to load its data. Throws REDIS_UNAVAILABLE when it is
 * refused, and when Sentinels or a cluster take longer than `timeoutMs`: they are asked again and again.
 */
export async function openRedis(redis: Redis | Cluster, timeoutMs: number, time: ProcessTime): Promise<void> {
  const withinTime = (work: Promise<void>, otherwise: string): Promise<void> =>
    within(time, timeoutMs, work, () => new Error(`${otherwise} after ${timeoutMs} ms`));
  try {
    if (redis instanceof Cluster)
      await withinTime(openCluster(redis, time), 'not every slot has a master that answers');
    else if (redis.options.sentinels) await withinTime(redis.connect(), 'no Sentinel knows a primary that answers');
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

/** Begins to connect the masters that nobody has sent anything to yet. */
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

export const SLOTS = 16_384;

/** As the client's map of slots names its nodes. */
export function nodeKey({ options }: Redis): string {
  return `${options.host ?? ''}:${options.port ?? ''}`;
}

type ClusterForm = Extract<RedisForm, { kind: 'cluster' }>;
type Access = Omit<ClusterForm, 'kind' | 'nodes'>;
/** Replies keep the shape they have always had. */
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
      // It would ask before any connection is there, and nothing waits for one. `openRedis` knows better.
      enableReadyCheck: false,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshInterval: SLOTS_EVERY_MS,
      slotsRefreshTimeout: settings.timeoutMs,
      clusterRetryStrategy: pauseMs,
      // A master that is unavailable keeps its place, so that what is meant for it fails at once instead of being sent round.
      clusterNodeRetryStrategy: pauseMs,
      // Certificates name hosts.
      ...(form.tls ? { dnsLookup: (host, done) => done(null, host) } : {}),
      redisOptions: { ...commonOptions(settings), ...accessOptions(form) },
    },
  );
  cluster.on('+node', (node: Redis) => {
    // After the command that made it known, which may wait for the connection.
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
    // A primary that was demoted keeps its connections and refuses every write: the new one is found by connecting anew.
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
  // A connection on which nothing comes back any more is given up, and the server is looked for anew.
  return { ...impatient(timeoutMs), socketTimeout: 2 * timeoutMs };
}

/** Connects when told to; whatever is not answered in time fails, and nothing is sent a second time. */
function impatient(timeoutMs: number): Options {
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
  // One line a kind of trouble, not one for each try to connect.
  const told = new Set<string>();
  const report = (error: Error): void => {
    if (!told.has(error.message)) onTrouble(error);
    told.add(error.message);
  };
  const forget = (): void => told.clear();
  redis.on('error', report);
  redis.on('ready', forget);
  if (!(redis instanceof Cluster)) return;
  redis.on('node error', report);
  redis.on('+node', (node: Redis) => node.on('ready', forget));
}

/** Connects to the nodes in turn, one after the other with each try. */
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
