/** BullMQ as a contender: a worker process, and its queue as a producer sees it. */
import { addJobs, openQueue, redisConnection, type BenchJob } from './bullmq-queue.js';
import { Child } from './child.js';
import type { Harness } from './harness.js';

export interface BullmqSide {
  readonly pid: number;
  /** Adds jobs in bulk, each due at its time. */
  add(jobs: readonly { readonly data: BenchJob; readonly dueAtMs: number }[]): Promise<void>;
  /** Begins to count; gives the wait until so many are completed. */
  expectCompleted(jobs: number): Promise<() => Promise<unknown>>;
  stop(): Promise<void>;
}

export async function startBullmq(harness: Harness, concurrency: number): Promise<BullmqSide> {
  const connection = redisConnection(harness.stores.redis.url);
  const worker = new Child('bullmq-worker.js', { url: harness.url, concurrency, connection });
  const queue = openQueue(connection);
  await worker.next('ready');
  return {
    pid: worker.pid,
    add: (jobs) => addJobs(queue, jobs),
    expectCompleted: async (jobs) => {
      await worker.ask({ kind: 'expect', messages: jobs }, 'expecting');
      const completed = worker.next('completed', 600_000);
      return () => completed;
    },
    stop: async () => {
      await queue.close();
      await worker.stop();
    },
  };
}
