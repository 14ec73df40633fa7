// Makes a node's part in the cluster: the clients of the lock servers, the channels, the holder of its shards and its membership.

import { Redis, type Cluster } from 'ioredis';
import type { Logger } from 'pino';
import type { ActorParts } from '../actor/actor-parts.js';
import type { Sweeper } from '../actor/sweeper.js';
import { type Config, lockServerUrls } from '../config.js';
import type { ProcessTime } from '../domain/clock.js';
import { Fencing } from '../membership/fencing.js';
import { Membership, type MembershipEvents } from '../membership/membership.js';
import { Roster } from '../membership/roster.js';
import { ShardHolder } from '../membership/shard-holder.js';
import { ShardLocks } from '../membership/shard-locks.js';
import { Channels } from '../redis/channels.js';
import { ConsoleChannels } from '../redis/console-channels.js';
import { createRedis, createSubscriber, openRedis } from '../redis/connect.js';
import { Subscriptions } from '../redis/subscriptions.js';
import type { ShardQueue } from '../redis/shard-queue.js';
import type { Recorder } from '../postgres/messages/recorder.js';
import type { Database } from '../postgres/database.js';
import { ABANDONED_AFTER_MS } from './times.js';
import {
  endAbandoned,
  grantEpochs,
  supersededShards,
  supersedeEpochs,
  readShards,
  renewEpochs,
} from '../postgres/shards/epochs.js';

const DEATHS_REMEMBERED_MS = 5 * 60_000;
/** A lock server's answer is waited for so long, as a part of a lease: several must fit into what is left of it. */
const LOCK_ANSWER = 1 / 8;
const MIN_LOCK_ANSWER_MS = 100;

export interface NodeCluster {
  readonly locks: ShardLocks;
  readonly channels: Channels;
  readonly consoleChannels: ConsoleChannels;
  readonly holder: ShardHolder;
  readonly membership: Membership;
  /** Wakes a shard's actor here, or tells the node that owns it. */
  readonly wake: (shard: number, dueAtMs: number) => void;
  /** Joins the cluster: resolves when this node has what is due to it. */
  start(actorParts: ActorParts): Promise<void>;
  /** After the membership was stopped. */
  disconnect(): void;
}

/** This process's time. */
export const processTime: ProcessTime = {
  monotonicMs: () => performance.now(),
  after: (delayMs, call) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};

export function makeCluster(parts: {
  config: Config;
  log: Logger;
  identity: string;
  database: Database;
  redis: Redis | Cluster;
  queue: ShardQueue;
  sweeper: Sweeper;
  events: MembershipEvents;
  recorder: Pick<Recorder, 'isAvailable' | 'probe'>;
}): NodeCluster {
  const { config, log, identity, database, redis, queue, sweeper } = parts;
  const prefix = config.CARILLON_REDIS_PREFIX;
  const lockClients = makeLockClients(config, log);
  const subscriber = createSubscriber({
    url: config.CARILLON_REDIS_URL,
    timeoutMs: config.CARILLON_REDIS_TIMEOUT_MS,
    onTrouble: () => undefined,
  });
  const subscriptions = new Subscriptions(subscriber);
  const channels = new Channels(redis, subscriptions, prefix);
  const consoleChannels = new ConsoleChannels(redis, subscriptions, prefix);
  const locks = new ShardLocks(
    lockClients,
    { keyPrefix: `${prefix}:{locks}:`, leaseMs: config.CARILLON_LEASE_MS },
    processTime,
  );
  const fencing = new Fencing({
    authority: {
      grant: (node, shards) => grantEpochs(database, node, shards),
      renew: (node, held) => renewEpochs(database, node, held),
      supersede: (node, stored) => supersedeEpochs(database, node, stored),
      superseded: (held) => supersededShards(database, held),
      endAbandoned: (shards) => endAbandoned(database, shards, ABANDONED_AFTER_MS),
    },
    queue,
    node: identity,
    log,
  });
  const holder = new ShardHolder({
    fencing,
    sweeper,
    channels,
    time: processTime,
    log,
    settings: {
      shards: config.CARILLON_SHARDS,
      extendVisibilityMs: config.CARILLON_TOUCH_MS,
      drainMs: config.CARILLON_DRAIN_MS,
      handoverMs: config.CARILLON_HANDOVER_MS,
    },
  });
  const roster = new Roster(redis, {
    prefix,
    shards: config.CARILLON_SHARDS,
    leaseMs: config.CARILLON_LEASE_MS,
    deathsRememberedMs: DEATHS_REMEMBERED_MS,
  });
  const membership = new Membership({
    locks,
    roster,
    holder,
    channels,
    time: processTime,
    isPostgresAvailable: () => parts.recorder.isAvailable,
    probePostgres: (quietMs, withinMs) => parts.recorder.probe(quietMs, withinMs),
    log,
    events: parts.events,
    settings: {
      id: identity,
      name: config.CARILLON_NODE_NAME,
      leaseMs: config.CARILLON_LEASE_MS,
      heartbeatMs: config.CARILLON_HEARTBEAT_MS,
      joinGraceMs: config.CARILLON_JOIN_GRACE_MS,
      handoversMax: config.CARILLON_HANDOVERS_MAX,
    },
  });
  const start = async (actorParts: ActorParts): Promise<void> => {
    await openRedis(subscriber, config.CARILLON_REDIS_TIMEOUT_MS);
    // A lock server that is unavailable is tried again in the background: a majority is enough.
    await Promise.allSettled(lockClients.map((client) => openRedis(client, config.CARILLON_REDIS_TIMEOUT_MS)));
    const neverGranted = (await readShards(database)).every(({ node }) => node === null);
    if (neverGranted) await locks.bootstrapEmptyServers();
    holder.start(actorParts);
    await channels.listen({
      onWake: (shard, dueAtMs) => void holder.wake(shard, dueAtMs),
      onFree: () => membership.nudge(),
      onDrain: (id) => {
        if (id === identity) void membership.drain();
      },
      onGap: () => holder.wakeAll(),
    });
    await membership.start();
  };
  return {
    locks,
    channels,
    consoleChannels,
    holder,
    membership,
    wake: (shard, dueAtMs) => {
      if (!holder.wake(shard, dueAtMs)) channels.wake(shard, dueAtMs);
    },
    start,
    disconnect: () => {
      for (const client of [...lockClients, subscriber]) client.disconnect();
    },
  };
}

/** Connections of their own: a lock's answer is not to wait behind a delivery's script, and is not waited for as long. */
function makeLockClients(config: Config, log: Logger): (Redis | Cluster)[] {
  const answerMs = Math.max(MIN_LOCK_ANSWER_MS, Math.round(config.CARILLON_LEASE_MS * LOCK_ANSWER));
  const options = {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: answerMs,
    connectTimeout: answerMs,
    retryStrategy: (attempt: number) => Math.min(100 * attempt, 1_000),
  };
  const urls = lockServerUrls(config);
  const clients = urls.map((url) => new Redis(url, options));
  clients.forEach((client, index) => {
    watchLockServer(client, urls[index] ?? '', log);
  });
  if (clients.length > 0) return clients;
  // Those who use the same server for its data tell of its troubles.
  return [createRedis({ url: config.CARILLON_REDIS_URL, timeoutMs: answerMs, onTrouble: () => undefined })];
}

function watchLockServer(client: Redis, url: string, log: Logger): void {
  const { host } = new URL(url);
  let isAway = false;
  client.on('error', (error: Error) => {
    if (!isAway) log.warn({ err: error, server: host }, 'a lock server cannot be reached');
    isAway = true;
  });
  client.on('ready', () => {
    if (isAway) log.info({ server: host }, 'a lock server is back');
    isAway = false;
  });
}
