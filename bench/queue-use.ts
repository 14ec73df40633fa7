/** What lies in Redis, and how much memory it takes. */
import { shardKeys } from '../src/redis/keys.js';
import { sleep } from './harness.js';
import type { BenchStores } from './stores.js';

const SAMPLE_MS = 250;
const POLL_MS = 100;
const SWEPT_TIMEOUT_MS = 600_000;

/** `used_memory` at rest: the least of some samples, since buffers of connections and of the log come and go. */
export async function usedMemory({ queue }: BenchStores, looks: number): Promise<number> {
  const samples: number[] = [];
  for (let look = 0; look < looks; look++) {
    await sleep(SAMPLE_MS);
    const info = await queue.info('memory');
    samples.push(Number(/^used_memory:(\d+)/m.exec(info)?.[1]));
  }
  return Math.min(...samples);
}

/** Waits until every shard has completed a horizon after `afterMs`: what is to be in the queue is there. */
export async function untilSwept(stores: BenchStores, prefix: string, afterMs = 0): Promise<void> {
  const shards = await shardCount(stores);
  const deadlineMs = performance.now() + SWEPT_TIMEOUT_MS;
  for (;;) {
    const pipeline = stores.queue.pipeline();
    for (const { state } of shards.map((shard) => shardKeys(prefix, shard))) pipeline.hget(state, 'completed');
    const replies = (await pipeline.exec()) ?? [];
    if (replies.every(([, completed]) => Number(completed ?? 0) > afterMs)) return;
    if (performance.now() > deadlineMs) throw new Error('not all shards were swept');
    await sleep(POLL_MS);
  }
}

/** Entries that are due, now or later, in all shards. */
export async function queuedEntries(stores: BenchStores, prefix: string): Promise<number> {
  const pipeline = stores.queue.pipeline();
  for (const shard of await shardCount(stores)) pipeline.zcard(shardKeys(prefix, shard).due);
  const replies = (await pipeline.exec()) ?? [];
  return replies.reduce((sum, [, count]) => sum + Number(count), 0);
}

async function shardCount({ table }: BenchStores): Promise<number[]> {
  const { rows } = await table.query<{ shards: number }>('select shards from cluster');
  return Array.from({ length: rows[0]?.shards ?? 0 }, (_, shard) => shard);
}
