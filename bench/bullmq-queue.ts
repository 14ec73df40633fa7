/** BullMQ's queue as producers see it. */
import { Queue, type ConnectionOptions } from 'bullmq';

export const BULLMQ_QUEUE = 'deliveries';

export interface BenchJob {
  readonly id: string;
  readonly body: string;
  /** Sent along when lag is measured. */
  readonly dueAtMs: number | null;
}

export function openQueue(connection: ConnectionOptions): Queue<BenchJob> {
  return new Queue<BenchJob>(BULLMQ_QUEUE, {
    connection,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: 1_000 },
  });
}

/** How BullMQ is to connect to a Redis with this URL. */
export function redisConnection(url: string): ConnectionOptions {
  const { hostname, port, password } = new URL(url);
  return { host: hostname, port: Number(port), password };
}

/** Adds jobs in bulk, each due at its time. */
export async function addJobs(
  queue: Queue<BenchJob>,
  jobs: readonly { readonly data: BenchJob; readonly dueAtMs: number }[],
): Promise<void> {
  await queue.addBulk(
    jobs.map(({ data, dueAtMs }) => ({ name: 'deliver', data, opts: { delay: Math.max(1, dueAtMs - Date.now()) } })),
  );
}
