// Makes the sweeper of a node's shards, with its settings.

import type { Logger } from 'pino';
import { Sweeper } from '../actor/sweeper.js';
import type { Config } from '../config.js';
import type { RedisClock } from '../redis/redis-clock.js';
import type { ShardQueue } from '../redis/shard-queue.js';
import type { Database } from '../postgres/database.js';
import type { NodeHooks } from './hooks.js';
import { sweepSettings } from './times.js';

export function makeSweeper(parts: {
  config: Config;
  log: Logger;
  database: Database;
  queue: ShardQueue;
  clock: RedisClock;
  hooks: NodeHooks;
}): Sweeper {
  const { config, log, database, queue, clock, hooks } = parts;
  const settings = sweepSettings(config);
  return new Sweeper(
    { database, queue, clock, settings },
    {
      shards: config.CARILLON_SHARDS,
      promoteEveryMs: settings.promoteEveryMs,
      rescueEveryMs: config.CARILLON_RESCUE_EVERY_MS,
      onSwept: hooks.onSwept,
    },
    log,
  );
}
