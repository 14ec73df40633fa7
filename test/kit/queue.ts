/** A shard queue on a key prefix of the test's own, and a look behind it. */
import type { Cluster, Redis } from 'ioredis';
import { createRedis, openRedis } from '../../src/redis/connect.js';
import { type ShardKeys, shardKeys } from '../../src/redis/keys.js';
import { type Claim, type QueueEntry, type QueueTimes, ShardQueue } from '../../src/redis/shard-queue.js';
import { freshRedis } from './stores.js';
import { processTime } from '../../src/time/process-time.js';

export const EPOCH = 7;
export const HOUR = 3_600_000;

export interface OpenQueue {
  readonly queue: ShardQueue;
  readonly redis: Redis | Cluster;
  /** What Redis takes Redis's clock for: this process's, and so much more. */
  readonly clock: { aheadMs: number };
  readonly prefix: string;
  keys(shard: number): ShardKeys;
  /** Redis's time, in whole milliseconds. */
  nowMs(): Promise<number>;
  /** Fences a shard with EPOCH and sets a horizon of an hour that was completed long ago, so that it takes work and payloads. */
  ready(shard: number, horizonMs?: number): Promise<void>;
  /** All of a shard's keys, by name and content. */
  dump(shard: number): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

const TIMES: QueueTimes = { answerMs: 5_000, visibilityMs: 15_000, payloadFreshMs: 5_000, tombstoneMs: 60_000 };

/** `url` is a Redis server of the test's own; the run's shared one when left out. */
export async function openQueue(times: Partial<QueueTimes> = {}, url?: string): Promise<OpenQueue> {
  const fresh = freshRedis();
  const redis = createRedis({ url: url ?? fresh.url, timeoutMs: times.answerMs ?? 5_000, onTrouble: () => undefined });
  await openRedis(redis, 5_000, processTime);
  const prefix = fresh.prefix.replace(/:$/, '');
  const clock = { aheadMs: 0 };
  const queue = new ShardQueue(redis, prefix, { ...TIMES, ...times }, { nowMs: () => Date.now() + clock.aheadMs });
  const keys = (shard: number): ShardKeys => shardKeys(prefix, shard);
  const nowMs = async (): Promise<number> => {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  };
  return {
    queue,
    redis,
    clock,
    prefix,
    keys,
    nowMs,
    ready: async (shard, horizonMs = HOUR) => {
      await queue.fence(shard, EPOCH);
      const horizonAtMs = (await nowMs()) + horizonMs;
      await queue.announce(shard, EPOCH, horizonAtMs);
      await queue.complete(shard, EPOCH, horizonAtMs);
      await redis.hset(keys(shard).state, 'filled', 0);
    },
    dump: async (shard) => {
      const { due, inflight, task, state, tomb } = keys(shard);
      return {
        due: await redis.zrange(due, 0, '-1', 'WITHSCORES'),
        inflight: await redis.zrange(inflight, 0, '-1', 'WITHSCORES'),
        task: await redis.hgetall(task),
        state: await redis.hgetall(state),
        tomb: await redis.zrange(tomb, 0, '-1'),
      };
    },
    close: async () => {
      await redis.quit();
    },
  };
}

/** `createdAtMs`: when its payload was made; this moment when left out. */
export function entry(id: string, dueAtMs: number, payload = '', createdAtMs = Date.now()): QueueEntry {
  return { id, dueAtMs, payload, createdAtMs };
}

/** What a claim brought; fails when it was refused. */
export async function claims(queue: ShardQueue, shard: number, limit = 100, epoch = EPOCH): Promise<readonly Claim[]> {
  const reply = await queue.claim(shard, epoch, limit);
  if (reply.kind !== 'claimed') throw new Error(`the claim was refused: ${reply.kind}`);
  return reply.claims;
}
