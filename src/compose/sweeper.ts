// Builds the sweeper of a node's shards from its settings.

import { Sweeper } from '../actor/sweeper.js';
import type { ShardQueue } from '../redis/shard-queue.js';
import type { NodePorts } from './ports.js';
import { sweepSettings } from './times.js';

export function makeSweeper({ config, log, database, clock, time, hooks }: NodePorts, queue: ShardQueue): Sweeper {
  const settings = sweepSettings(config);
  return new Sweeper(
    { database, queue, clock, settings },
    {
      shards: config.CARILLON_SHARDS,
      time,
      promoteEveryMs: settings.promoteEveryMs,
      rescueEveryMs: config.CARILLON_RESCUE_EVERY_MS,
      onSwept: hooks.onSwept,
    },
    log,
  );
}
