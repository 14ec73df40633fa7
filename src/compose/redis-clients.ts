// A node's connections to Redis: one for data, one for subscriptions, and one for each lock server.

import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { type Config, lockServerUrls } from '../config.js';
import { createLockServer, createRedis, createSubscriber, openRedis } from '../redis/connect.js';
import { lockAnswerMs } from './times.js';
import type { ProcessTime } from '../domain/clock.js';

export interface RedisClients {
  readonly redis: Redis | Cluster;
  readonly subscriber: Redis;
  /** Separate connections: the answer of a lock must not wait behind a delivery's script, and has a shorter timeout. */
  readonly lockServers: readonly (Redis | Cluster)[];
  /** Connects all of them. An unavailable lock server is retried in the background: a majority is enough. */
  open(): Promise<void>;
  disconnect(): void;
}

export function makeRedisClients(config: Config, time: ProcessTime, log: Logger): RedisClients {
  const url = config.CARILLON_REDIS_URL;
  const timeoutMs = config.CARILLON_REDIS_TIMEOUT_MS;
  const redis = createRedis({
    url,
    timeoutMs,
    onTrouble: (error) => log.warn({ err: error }, 'Redis cannot be reached'),
  });
  // The client of the same server's data reports its errors.
  const subscriber = createSubscriber({ url, timeoutMs, onTrouble: () => undefined });
  const lockServers = makeLockServers(config, log);
  return {
    redis,
    subscriber,
    lockServers,
    open: async () => {
      await openRedis(redis, timeoutMs, time);
      await openRedis(subscriber, timeoutMs, time);
      await Promise.allSettled(lockServers.map((client) => openRedis(client, timeoutMs, time)));
    },
    disconnect: () => {
      for (const client of [...lockServers, subscriber, redis]) client.disconnect();
    },
  };
}

function makeLockServers(config: Config, log: Logger): (Redis | Cluster)[] {
  const timeoutMs = lockAnswerMs(config);
  const clients = lockServerUrls(config).map((url) => {
    const server = new URL(url).host;
    return createLockServer({
      url,
      timeoutMs,
      onUnavailable: (error) => log.warn({ err: error, server }, 'a lock server cannot be reached'),
      onBack: () => log.info({ server }, 'a lock server is available again'),
    });
  });
  if (clients.length > 0) return clients;
  return [createRedis({ url: config.CARILLON_REDIS_URL, timeoutMs, onTrouble: () => undefined })];
}
