// Redis comes back after a while: without its last moments, or thawed with everything that was sent to it meanwhile.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { claims, entry, EPOCH, openQueue, type OpenQueue } from '../../kit/queue.js';
import { ownRedis, type OwnStore } from '../../kit/stores.js';
import { publish, schedule, until, untilRows, untilState } from '../../kit/work.js';

/** What is late by less than this was not left to a sweep that comes once a minute. */
const LATE_MS = 2_500;

let store: OwnStore;
beforeAll(async () => {
  // It has what it saved when it was told to, and forgets all after that.
  store = await ownRedis({ appendonly: 'no', save: '' });
});
afterAll(() => store.stop());

async function save(): Promise<void> {
  const redis = new Redis(store.url);
  await redis.save();
  redis.disconnect();
}

async function restart(): Promise<void> {
  await store.kill9();
  await store.restart();
}

describe('the fence of a shard (issue 12)', () => {
  let open: OpenQueue;
  let shard = 100;
  beforeAll(async () => {
    open = await openQueue({}, store.url);
    open.redis.on('error', () => undefined);
  });
  afterAll(() => open.redis.disconnect());
  beforeEach(async () => {
    shard += 1;
    await open.ready(shard);
  });
  const isReady = (): Promise<void> => until(async () => expect(await open.redis.ping()).toBe('PONG'));

  it('keeps the horizons in the same run of Redis', async () => {
    expect((await open.queue.fence(shard, EPOCH + 1)).completedAtMs).toBeGreaterThan(0);
  });

  it('forgets them in another run, whoever installs it, until a sweep was completed', async () => {
    await save();
    await restart();
    await isReady();
    expect(await open.queue.fence(shard, EPOCH + 1)).toMatchObject({ previousEpoch: EPOCH, completedAtMs: 0 });
    // Its answer may have been lost.
    expect(await open.queue.fence(shard, EPOCH + 2)).toMatchObject({ announcedAtMs: 0, completedAtMs: 0 });
    await open.queue.complete(shard, EPOCH + 2, 5_000);
    expect(await open.queue.fence(shard, EPOCH + 3)).toMatchObject({ completedAtMs: 5_000 });
  });

  it('forgets them on a replica that was promoted', async () => {
    await open.redis.call('REPLICAOF', '127.0.0.1', '1');
    await open.redis.call('REPLICAOF', 'NO', 'ONE');
    expect(await open.queue.fence(shard, EPOCH + 1)).toMatchObject({ completedAtMs: 0 });
  });
});

describe('a claim whose caller has given up (issue 12)', () => {
  const SHARD = 50;
  let open: OpenQueue;
  beforeAll(async () => {
    open = await openQueue({ answerMs: 300 }, store.url);
    await open.ready(SHARD);
    await open.queue.accept(SHARD, [entry('a', 1)]);
  });
  afterAll(() => open.redis.disconnect());

  it('takes nothing when the frozen server thaws; the next one does', async () => {
    store.pause();
    const deadlineMs = performance.now() + 1_000;
    while (performance.now() < deadlineMs)
      await expect(open.queue.claim(SHARD, EPOCH, 1)).rejects.toThrow('is unavailable');
    store.resume();
    await until(async () => expect(await open.redis.ping()).toBe('PONG'));
    expect(await open.dump(SHARD)).toMatchObject({ due: ['a', '1'], inflight: [] });
    expect((await claims(open.queue, SHARD)).map(({ id }) => id)).toEqual(['a']);
  });

  it('is not taken for one when the clock of its server is far ahead of what the node knows', async () => {
    await open.queue.accept(SHARD, [entry('b', 1)]);
    open.clock.aheadMs = -10_000;
    expect(await open.queue.claim(SHARD, EPOCH, 1)).toEqual({ kind: 'late' });
    expect((await claims(open.queue, SHARD)).map(({ id }) => id)).toEqual(['b']);
    open.clock.aheadMs = 0;
    await claims(open.queue, SHARD);
  });
});

describe('Redis is unavailable past the lease and back without its last moments (issue 12)', () => {
  let node: TestNode;
  beforeAll(async () => {
    node = await startTestNode({ CARILLON_REDIS_URL: store.url, CARILLON_REDIS_TIMEOUT_MS: 500 });
  });
  afterAll(() => node.stop());
  const figures = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${node.adminToken}` };
    return (await node.call('GET', '/metrics', { headers })).text();
  };

  it('what it forgot comes in time: messages, and the first runs of new schedules', async () => {
    const warm = await publish(node, '/warm');
    await untilState(node, warm, 'delivered');
    await save();
    const ids = await Promise.all(
      Array.from({ length: 40 }, () => publish(node, '/later', { headers: { 'Upstash-Delay': '5s' } })),
    );
    await schedule(node, 'fresh', '* * * * * *');
    await store.kill9();
    await until(async () => expect(await figures()).toMatch(/^carillon_shards_owned 0$/m));
    await store.restart();
    const backAtMs = Date.now();
    await untilRows(node, 'fresh', 1, ({ state, occurrence_at }) => state === 'delivered' && occurrence_at! > backAtMs);
    const rows = await Promise.all(ids.map((id) => untilState(node, id, 'delivered', 20_000)));
    const latestMs = Math.max(...rows.map((row) => (row.started_at ?? 0) - Math.max(row.due_at, backAtMs)));
    expect(latestMs).toBeLessThan(LATE_MS + 1_500);
  });
});
