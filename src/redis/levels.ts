// Reads how much work is in the queues of shards; only while somebody looks at it.

import type { Cluster, Redis } from 'ioredis';
import { shardKeys } from './keys.js';
import { Script } from './script.js';

export interface ShardLevel {
  readonly shard: number;
  /** The installed epoch; 0 when the shard's state is missing. */
  readonly epoch: number;
  /** Entries that are due and not claimed. */
  readonly due: number;
  /** All entries that are not in flight, including those that are due. */
  readonly queued: number;
  readonly inFlight: number;
  /** How late the earliest due entry is. */
  readonly lagMs: number;
  readonly announcedAtMs: number;
  readonly completedAtMs: number;
}

const script = new Script('levels');

/**
 * Reads the levels of shards, with one script each, in one write. Throws REDIS_UNAVAILABLE when Redis is unavailable.
 */
export async function readLevels(
  redis: Redis | Cluster,
  prefix: string,
  shards: readonly number[],
): Promise<ShardLevel[]> {
  return Promise.all(
    shards.map(async (shard) => {
      const { due, inflight, state } = shardKeys(prefix, shard);
      const reply = (await script.run(redis, [due, inflight, state], [])) as number[];
      const [epoch = 0, dueNow = 0, queued = 0, inFlight = 0, lagMs = 0, announcedAtMs = 0, completedAtMs = 0] = reply;
      return { shard, epoch, due: dueNow, queued, inFlight, lagMs, announcedAtMs, completedAtMs };
    }),
  );
}

export interface RedisMemory {
  readonly usedBytes: number;
  /** 0: no bound. */
  readonly maxBytes: number;
}

/** Reads the memory use of Redis; null on a cluster, where each master has its own. */
export async function readMemory(redis: Redis | Cluster): Promise<RedisMemory | null> {
  if ('nodes' in redis) return null;
  const text = await redis.info('memory');
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { usedBytes: numberOf('used_memory'), maxBytes: numberOf('maxmemory') };
}
