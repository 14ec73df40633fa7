// What went wrong elsewhere when a store was emptied, full or away: work came late or was lost. Here it comes late at most.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { ownPostgres, ownRedis, type OwnStore } from '../../kit/stores.js';
import { expectInvariants, publish, rowOf, rowsOf, schedule, until, untilRows, untilState } from '../../kit/work.js';
import { shardKeys } from '../../../src/redis/keys.js';

let stores: { redis: OwnStore; postgres: OwnStore };
let node: TestNode;
let redis: Redis;
beforeAll(async () => {
  const [redisStore, postgres] = await Promise.all([ownRedis(), ownPostgres()]);
  stores = { redis: redisStore, postgres };
  node = await startTestNode({
    CARILLON_REDIS_URL: redisStore.url,
    CARILLON_DATABASE_URL: postgres.url,
    CARILLON_RESCUE_EVERY_MS: 1_000,
    CARILLON_DATABASE_TIMEOUT_MS: 500,
    CARILLON_REDIS_TIMEOUT_MS: 500,
  });
  redis = new Redis(redisStore.url);
  redis.on('error', () => undefined);
});
afterAll(async () => {
  await expectInvariants(node);
  redis.disconnect();
  await node.stop();
  await Promise.all([stores.redis.stop(), stores.postgres.stop()]);
});

const callsOf = (ids: readonly string[]) =>
  node.sink.calls.filter(({ messageId }) => ids.includes(messageId.slice('msg_'.length)));

async function expectEachOnce(ids: readonly string[]): Promise<void> {
  for (const id of ids) await untilState(node, id, 'delivered', 20_000);
  expect(callsOf(ids)).toHaveLength(ids.length);
}

/** Entries of all shards in a part of Redis. */
async function entries(part: 'due' | 'inflight' | 'task'): Promise<number> {
  let count = 0;
  for (let shard = 0; shard < node.config.CARILLON_SHARDS; shard++) {
    const key = shardKeys(node.config.CARILLON_REDIS_PREFIX, shard)[part];
    count += part === 'task' ? await redis.hlen(key) : await redis.zcard(key);
  }
  return count;
}

describe('Redis', () => {
  it('does not hold what is due beyond the horizon (report 24)', async () => {
    const far = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        publish(node, '/far', { headers: { 'Upstash-Delay': `${3 + index}d` }, body: 'x'.repeat(1_000) }),
      ),
    );
    expect([await entries('due'), await entries('task')]).toEqual([0, 0]);
    await node.call('DELETE', '/v2/messages', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messageIds: far.map((id) => `msg_${id}`) }),
    });
  });

  it('holds no payload of what is due later than soon, nor of what is large', async () => {
    const later = await publish(node, '/later', { headers: { 'Upstash-Delay': '2h' } });
    const large = await publish(node, '/large', { headers: { 'Upstash-Delay': '5m' }, body: 'x'.repeat(100_000) });
    await until(async () => expect(await entries('due')).toBe(2));
    expect(await entries('task')).toBe(0);
    for (const id of [later, large]) await node.call('DELETE', `/v2/messages/msg_${id}`);
    expect(await entries('due')).toBe(0);
  });
});

describe('an emptied queue (report 24)', () => {
  it('is filled again from PostgreSQL: nothing is lost, nothing is sent twice', async () => {
    await schedule(node, 'ticking', '* * * * * *');
    await untilRows(node, 'ticking', 1, ({ state }) => state === 'delivered');
    const soon = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        publish(node, '/soon', { headers: { 'Upstash-Delay': `${1 + (index % 4)}s` }, body: `${index}` }),
      ),
    );
    const tomorrow = await publish(node, '/tomorrow', { headers: { 'Upstash-Delay': '20h' } });
    await redis.flushall();
    const flushedAtMs = Date.now();
    await expectEachOnce(soon);
    await untilRows(node, 'ticking', 3, (row) => row.state === 'delivered' && row.occurrence_at! > flushedAtMs);
    await node.call('DELETE', '/v2/schedules/ticking');
    const atMs = (await rowsOf(node, 'ticking')).map(({ occurrence_at }) => occurrence_at ?? 0);
    expect(atMs.map((time, index) => time - atMs[0]! - index * 1_000)).toEqual(atMs.map(() => 0));
    await until(async () => expect(await entries('due')).toBe(1));
    await node.call('DELETE', `/v2/messages/msg_${tomorrow}`);
  });

  it('sends again nothing that is being delivered at that moment', async () => {
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    node.sink.answer(async (call) => {
      if (call.path === '/held') await held;
      return {};
    });
    const ids = await Promise.all(Array.from({ length: 10 }, () => publish(node, '/held')));
    await node.sink.waitFor(10, ({ path }) => path === '/held');
    await redis.flushall();
    // The sweep has put them back and an actor has them in its hands again.
    await until(async () => expect(await entries('inflight')).toBe(10));
    answer();
    await expectEachOnce(ids);
    await until(async () => expect([await entries('due'), await entries('inflight')]).toEqual([0, 0]));
  });
});

describe('a full queue (report 24)', () => {
  it('loses nothing: what is accepted meanwhile comes when there is room, what is due goes out, schedules go on', async () => {
    const before = await publish(node, '/before', { headers: { 'Upstash-Delay': '1s' } });
    await until(async () => expect(await entries('due')).toBe(1));
    await schedule(node, 'through', '* * * * * *');
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    await redis.config('SET', 'maxmemory', '1');
    await expect(redis.set('x', 'y')).rejects.toThrow(/OOM/);
    const filledAtMs = Date.now();
    await untilRows(node, 'through', 2, (row) => row.state === 'delivered' && row.occurrence_at! > filledAtMs);
    await node.call('DELETE', '/v2/schedules/through');
    const meanwhile = await Promise.all(Array.from({ length: 20 }, () => publish(node, '/meanwhile')));
    await untilState(node, before, 'delivered');
    expect(callsOf(meanwhile)).toEqual([]);
    await redis.config('SET', 'maxmemory', '0');
    await expectEachOnce([before, ...meanwhile]);
  });
});

describe('a queue that is unavailable', () => {
  it('keeps nobody from publishing: what comes in meanwhile is delivered when it is back, once', async () => {
    stores.redis.pause();
    const meanwhile = await Promise.all(Array.from({ length: 20 }, () => publish(node, '/queue-away')));
    stores.redis.resume();
    await expectEachOnce(meanwhile);
  });

  it('and comes back without its last second forgets nothing and repeats nothing', async () => {
    const later = await Promise.all(
      Array.from({ length: 20 }, () => publish(node, '/restarted', { headers: { 'Upstash-Delay': '2s' } })),
    );
    await stores.redis.kill9();
    const meanwhile = await publish(node, '/restarted');
    await stores.redis.restart();
    await expectEachOnce([...later, meanwhile]);
  });
});

describe('a table that is unavailable', () => {
  it('is said to clients with 503 and when to try again; what was under way is recorded when it is back', async () => {
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    node.sink.answer(async (call) => {
      if (call.path === '/table-away') await held;
      return {};
    });
    const id = await publish(node, '/table-away');
    await node.sink.waitFor(1, ({ path }) => path === '/table-away');
    stores.postgres.pause();
    answer();
    const response = await node.call('POST', `/v2/publish/${node.sink.url}/refused`);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    await until(async () => expect((await node.call('GET', '/readyz')).status).toBe(503));
    stores.postgres.resume();
    expect(await untilState(node, id, 'delivered')).toMatchObject({ attempts: 1 });
    expect(callsOf([id])).toHaveLength(1);
    await until(async () => expect((await node.call('GET', '/readyz')).status).toBe(200));
    expect(await rowOf(node, id)).toMatchObject({ last_status: 200 });
  });
});
