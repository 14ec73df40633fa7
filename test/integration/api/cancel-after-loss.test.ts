// A cancel that Redis confirms although it lost the claim of the message: whoever claimed it may be about to send it.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { CANCEL_WAIT_MS } from '../../../src/domain/cancel-times.js';
import type { ProcessTime } from '../../../src/domain/clock.js';
import type { Message } from '../../../src/domain/message.js';
import { Cancellation } from '../../../src/intake/cancellation.js';
import { aMessage, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { EPOCH, openQueue, type OpenQueue } from '../../kit/queue.js';

const SHARD = 3;

let open: OpenRecorder;
let redis: OpenQueue;
beforeAll(async () => {
  [open, redis] = await Promise.all([openRecorder(), openQueue()]);
  await redis.queue.fence(SHARD, EPOCH);
  await redis.queue.announce(SHARD, EPOCH, Date.now() + 600_000);
});
afterAll(async () => {
  await Promise.all([open.close(), redis.close()]);
});

/** How long a cancel waits before it is acknowledged, by a time in which every pause is over at once. */
async function waitOf(message: Message): Promise<number> {
  let monotonicMs = 0;
  const time: ProcessTime = {
    monotonicMs: () => monotonicMs,
    after: (delayMs, call) => {
      const immediate = setImmediate(() => {
        monotonicMs += delayMs;
        call();
      });
      return () => clearImmediate(immediate);
    },
  };
  const cancellation = new Cancellation({
    database: open.database,
    enqueuer: { cancel: (shard, ids) => redis.queue.cancel(shard, ids), enqueue: () => undefined },
    clock: open.clock,
    time,
    settings: { idempotencyMs: 1_000, payloadWithinMs: 60_000, inlineMaxBytes: 1_000 },
  });
  await open.recorder.accept([{ message, keys: [] }]);
  expect(await cancellation.cancel(message.tenantId, [message.id])).toEqual([message.id]);
  return monotonicMs;
}

const due = (inMs: number): Message =>
  aMessage({ tenantId: open.tenantId, shard: SHARD, dueAtMs: open.clock.value + inMs });

it('of a message that is due and unknown to Redis waits until whoever claimed it has begun or reads the cancel', async () => {
  expect(await waitOf(due(-1_000))).toBeGreaterThanOrEqual(CANCEL_WAIT_MS);
});

it('of a message that waits in Redis, or is due much later, is acknowledged at once', async () => {
  const waiting = due(-1_000);
  await redis.queue.accept(SHARD, [{ id: waiting.id, dueAtMs: waiting.dueAtMs, payload: '' }]);
  expect(await waitOf(waiting)).toBe(0);
  expect(await waitOf(due(3_600_000))).toBe(0);
});
