/** BullMQ's side, a process of its own: its Worker as documented, whose handler makes the same signed call. */
import { Worker, type ConnectionOptions } from 'bullmq';
import { BULLMQ_QUEUE, type BenchJob } from './bullmq-queue.js';
import { hear, say, startOptions } from './child.js';
import { createPost, signedHeaders } from './signed-post.js';

export interface WorkerOptions {
  readonly url: string;
  readonly concurrency: number;
  readonly connection: ConnectionOptions;
}

const { url, concurrency, connection } = startOptions() as WorkerOptions;
const post = createPost(url, concurrency);
let completed = 0;
let expected = Infinity;

const worker = new Worker<BenchJob>(
  BULLMQ_QUEUE,
  async ({ data }) => {
    await post(signedHeaders(url, data.id, data.body, data.dueAtMs), data.body);
  },
  { connection, concurrency },
);
worker.on('completed', () => {
  completed += 1;
  if (completed === expected) say({ kind: 'completed' });
});
worker.on('failed', (_job, error) => console.error(error));
worker.on('error', (error) => console.error(error));

hear((note) => {
  if (note.kind !== 'expect') return;
  completed = 0;
  expected = Number(note.messages);
  say({ kind: 'expecting' });
});
await worker.waitUntilReady();
say({ kind: 'ready' });
