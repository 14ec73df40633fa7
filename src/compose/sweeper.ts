// Makes the sweeper of a node's shards, with its settings.

import type { Logger } from 'pino';
import { Sweeper } from '../actor/sweeper.js';
import type { Config } from '../config.js';
import type { RedisClock } from '../queue/redis-clock.js';
import type { ShardQueue } from '../queue/shard-queue.js';
import type { Database } from '../table/database.js';
import type { NodeHooks } from './hooks.js';

export function makeSweeper(parts: {
  config: Config;
  log: Logger;
  database: Database;
  queue: ShardQueue;
  clock: RedisClock;
  hooks: NodeHooks;
  /** How old an offer may be to bring its payload along. */
  payloadFreshMs: number;
}): Sweeper {
  const { config, log, database, queue, clock, hooks } = parts;
  const promoteEveryMs = config.CARILLON_PROMOTE_EVERY_MS;
  const settings = {
    horizonMs: config.CARILLON_HORIZON_MS,
    promoteEveryMs,
    batch: config.CARILLON_SWEEP_BATCH,
    createdBeforeMs: 2 * parts.payloadFreshMs,
  };
  return new Sweeper(
    { database, queue, clock, settings },
    {
      shards: config.CARILLON_SHARDS,
      promoteEveryMs,
      rescueEveryMs: config.CARILLON_RESCUE_EVERY_MS,
      onSwept: hooks.onSwept,
    },
    log,
  );
}
