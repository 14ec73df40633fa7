// Opens a node's stores and prepares them: connections, Redis's clock, the schema, the configured tokens.

import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { RandomBytes, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import { ClockCheck } from '../postgres/clock-check.js';
import type { Database } from '../postgres/database.js';
import { partitionBounds } from '../postgres/maintenance.js';
import { migrate } from '../postgres/migrate.js';
import { RedisClock } from '../redis/redis-clock.js';
import { nodeClock } from '../time/process-time.js';
import { ensureAccess } from './access.js';
import type { Closers } from './closers.js';
import { type DatabasePools, openPools } from './database-pools.js';
import { makeRedisClients, type RedisClients } from './redis-clients.js';

export interface Stores {
  readonly pools: DatabasePools;
  readonly clients: RedisClients;
  readonly clock: RedisClock;
}

const CLOCKS_EVERY_MS = 60_000;

/** Opens the stores. Throws POSTGRES_UNAVAILABLE or REDIS_UNAVAILABLE when a store cannot be reached. */
export async function openStores(dependencies: {
  config: Config;
  identity: string;
  time: ProcessTime;
  random: RandomBytes;
  log: Logger;
  closers: Closers;
}): Promise<Stores> {
  const { config, identity, time, random, log, closers } = dependencies;
  requireStores(config);
  const pools = openPools(config, identity, time, log);
  closers.add('PostgreSQL', () => pools.close());
  const clients = makeRedisClients(config, time, log);
  closers.add('Redis', () => clients.disconnect());
  await clients.open();
  const clock = new RedisClock(clients.redis, { time, nodeClock }, (skewMs) => {
    log.warn(
      { skewMs },
      'the clocks of the Redis masters differ: work in their shards is late or early by this difference',
    );
  });
  closers.add("Redis's clock", () => clock.stop());
  await clock.start();
  const { work, accepts } = pools;
  const delayMaxMs = config.CARILLON_DELAY_MAX_MS;
  await migrate(work, { shards: config.CARILLON_SHARDS, ...partitionBounds(clock.nowMs(), { delayMaxMs }) });
  await ensureAccess(work, config, random, log);
  void work.warm();
  void accepts.warm();
  return { pools, clients, clock };
}

function requireStores(config: Config): void {
  const missing = (['CARILLON_DATABASE_URL', 'CARILLON_REDIS_URL'] as const).filter((name) => config[name] === '');
  if (missing.length > 0) {
    throw new CarillonError('INVALID_REQUEST', `configuration: ${missing.join(' and ')} must be set`);
  }
}

/** Compares the clocks each minute, and logs when the result changes. */
export function watchClocks(dependencies: {
  database: Database;
  clock: RedisClock;
  config: Config;
  time: ProcessTime;
  log: Logger;
}): ClockCheck {
  const { database, clock, config, time, log } = dependencies;
  return new ClockCheck(database, clock, nodeClock, {
    time,
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
