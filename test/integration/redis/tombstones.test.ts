// What a cancel leaves behind, and that it goes by itself.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { openQueue, type OpenQueue } from '../../kit/queue.js';

const TOMBSTONE_MS = 60_000;

let open: OpenQueue;
beforeAll(async () => {
  open = await openQueue({ tombstoneMs: TOMBSTONE_MS });
});
afterAll(() => open.close());

it('tombstones go with the last of them, though nothing is canceled in their shard again', async () => {
  const { tomb } = open.keys(1);
  await open.queue.cancel(1, ['a']);
  await open.redis.pexpire(tomb, 1_000);
  await open.queue.cancel(1, ['b', 'c']);
  expect(await open.redis.zcard(tomb)).toBe(3);
  const leftMs = await open.redis.pttl(tomb);
  expect(leftMs).toBeGreaterThan(1_000);
  expect(leftMs).toBeLessThanOrEqual(TOMBSTONE_MS);
});
