// Offers that Redis did not take: in which order they are made later, how many are kept, and what of them.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openRedis } from '../../../src/redis/connect.js';
import { scheduleEntry } from '../../../src/redis/keys.js';
import { Enqueuer } from '../../../src/redis/enqueuer.js';
import { entry, HOUR, openQueue, type OpenQueue } from '../../kit/queue.js';
import { processTime } from '../../../src/time/process-time.js';

const SHARD = 3;
const SCHEDULE = scheduleEntry(1, 'nightly');

let open: OpenQueue;
let enqueuer: Enqueuer;
const faults: unknown[] = [];
beforeEach(async () => {
  open = await openQueue();
  await open.ready(SHARD);
  enqueuer = new Enqueuer(open.queue, () => undefined, processTime, {
    onError: (error) => faults.push(error),
    onRefused: () => undefined,
    onCaughtUp: () => undefined,
  });
});
afterEach(async () => {
  await enqueuer.stop();
  if (open.redis.status === 'ready') await open.close();
  expect(faults).toEqual([]);
});

/** Cuts the connection; ends when that is known. */
async function away(): Promise<void> {
  const closed = new Promise((resolve) => open.redis.once('end', resolve));
  open.redis.disconnect();
  await closed;
}

async function due(): Promise<string[]> {
  return open.redis.zrange(open.keys(SHARD).due, 0, '-1');
}

async function settled(waiting: number): Promise<void> {
  await expect.poll(() => enqueuer.backlog.waiting).toBe(waiting);
}

it('a schedule that is created anew while its delete waits goes in after it', async () => {
  await away();
  await enqueuer.reschedule(SHARD, SCHEDULE, null, 5);
  await openRedis(open.redis, 5_000, processTime);
  await enqueuer.reschedule(SHARD, SCHEDULE, Date.now() + 1_000, 1);
  await enqueuer.retry();
  expect(await due()).toEqual([SCHEDULE]);
});

it('a message that is canceled while its offer waits is not queued', async () => {
  await away();
  enqueuer.enqueue(SHARD, entry('m1', Date.now()));
  await settled(1);
  await openRedis(open.redis, 5_000, processTime);
  expect(await enqueuer.cancel(SHARD, ['m1'])).toBeNull();
  await enqueuer.retry();
  expect(await due()).toEqual([]);
});

it('what nothing waits for goes in at once', async () => {
  await away();
  await enqueuer.reschedule(SHARD, SCHEDULE, Date.now() + HOUR / 2, 1);
  await openRedis(open.redis, 5_000, processTime);
  await enqueuer.reschedule(SHARD, scheduleEntry(1, 'other'), Date.now() + 1_000, 1);
  expect(await due()).toEqual([scheduleEntry(1, 'other')]);
  await enqueuer.retry();
  expect(await due()).toContain(SCHEDULE);
  expect(enqueuer.backlog).toEqual({ waiting: 0, leftToSweeps: 0 });
});

it('entries are counted, not groups', async () => {
  await away();
  let count = 0;
  const enqueue = (entries: number): void => {
    for (let n = 0; n < entries; n++) enqueuer.enqueue(SHARD, entry(`m${count++}`, Date.now()));
  };
  enqueue(15_000);
  await settled(15_000);
  enqueue(6_000);
  await expect.poll(() => enqueuer.backlog.leftToSweeps).toBe(6_000);
  enqueue(5_000);
  await settled(20_000);
});

it('payloads are let go', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await away();
  const enqueue = (): WeakRef<object> => {
    const enqueued = entry('m', Date.now(), 'x'.repeat(10_000));
    enqueuer.enqueue(SHARD, enqueued);
    return new WeakRef(enqueued);
  };
  const kept = enqueue();
  await settled(1);
  await expect
    .poll(() => {
      collect();
      return kept.deref();
    })
    .toBeUndefined();
});
