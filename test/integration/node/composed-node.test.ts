// What a node does with the times that compose gives it, on real stores (issue 12): each of these was changed once without any test noticing.

import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queueTimes, sweepSettings } from '../../../src/compose/times.js';
import { ID_RANDOM_BYTES, messageId } from '../../../src/domain/ids.js';
import type { Message } from '../../../src/domain/message.js';
import { shardKeys } from '../../../src/redis/keys.js';
import { ShardQueue } from '../../../src/redis/shard-queue.js';
import { messageColumns, pending } from '../../../src/postgres/messages/message-columns.js';
import { aMessage } from '../../kit/messages.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import type { Call } from '../../kit/sink.js';
import { ownRedis } from '../../kit/stores.js';
import { publish, rowOf, schedule, until, untilState } from '../../kit/work.js';

const HOUR = 3_600_000;

let node: TestNode;
let redis: Redis;
beforeAll(async () => {
  // No sweep comes by its period while this runs.
  node = await startTestNode({ CARILLON_RESCUE_EVERY_MS: HOUR, CARILLON_PROMOTE_EVERY_MS: HOUR });
  redis = new Redis(node.config.CARILLON_REDIS_URL);
});
afterAll(async () => {
  redis.disconnect();
  await node.stop();
});

const of = (id: string) => (call: Call) => call.messageId === `msg_${id}`;
const keysOf = (shard: number) => shardKeys(node.config.CARILLON_REDIS_PREFIX, shard);

/** A row that was due and created so long ago, and of which Redis knows nothing. */
async function insertOverdue(createdMsAgo: number, given: Partial<Message> = {}): Promise<Message> {
  const [tenant] = await node.database.text<{ id: number }>(`select id from tenants where name = 'default'`);
  const dueAtMs = Date.now() - 20_000;
  const message = aMessage({
    id: messageId(dueAtMs, randomBytes(ID_RANDOM_BYTES)),
    tenantId: tenant?.id ?? 0,
    dueAtMs,
    createdAtMs: Date.now() - createdMsAgo,
    destination: `${node.sink.url}/overdue`,
    ...given,
  });
  await node.database.run('insert-messages', messageColumns([pending(message)]));
  return message;
}

describe('the times of compose', () => {
  it('let a sweep take clients’ rows only at twice the age at which Redis trusts their payloads', () => {
    const { payloadFreshMs } = queueTimes(node.config);
    expect(payloadFreshMs).toBeGreaterThan(1_000);
    expect(sweepSettings(node.config).createdBeforeMs).toBeGreaterThanOrEqual(2 * payloadFreshMs);
  });

  it('let a takeover rescue at once what is old enough, and occurrences of a former owner, and nothing younger', async () => {
    await schedule(node, 'yearly', '0 0 1 1 *');
    await node.stopNode();
    // The younger one first: whoever takes both puts it into Redis first.
    const young = await insertOverdue(0);
    const old = await insertOverdue(60_000);
    const occurrence = await insertOverdue(0, {
      kind: 'occurrence',
      scheduleId: 'yearly',
      occurrenceAtMs: Date.now() - 20_000,
    });
    await node.restartNode();
    const calls = await node.sink.waitFor(2, ({ path }) => path === '/overdue', 8_000);
    const expected = [old, occurrence].map(({ id }) => `msg_${id}`);
    expect(calls.map(({ messageId: id }) => id).sort()).toEqual(expected.sort());
    const { due, inflight } = keysOf(0);
    expect(await redis.zscore(due, young.id)).toBeNull();
    expect(await redis.zscore(inflight, young.id)).toBeNull();
    expect(await rowOf(node, young.id)).toMatchObject({ state: 'pending' });
    expect(Date.now() - young.createdAtMs, 'this machine is too slow to tell').toBeLessThan(10_000);
  });

  it('keep a tombstone for minutes after a cancel', async () => {
    const id = await publish(node, '/canceled', { headers: { 'Upstash-Delay': '1h' } });
    expect((await node.call('DELETE', `/v2/messages/msg_${id}`)).ok).toBe(true);
    const shards = [...Array(node.config.CARILLON_SHARDS).keys()];
    const marks = await Promise.all(shards.map((shard) => redis.zscore(keysOf(shard).tomb, id)));
    const untilMs = Number(marks.find((mark) => mark !== null));
    expect(untilMs - Date.now()).toBeGreaterThan(5 * 60_000);
  });
});

it('the key of a canceled message may be used again after the time of the setting', async () => {
  const headers = { 'Upstash-Delay': '1h', 'Carillon-Idempotency-Key': 'of-a-canceled-one' };
  const id = await publish(node, '/canceled', { headers });
  const before = Date.now();
  expect((await node.call('DELETE', `/v2/messages/msg_${id}`)).ok).toBe(true);
  const rows = await node.database.text<{ expires_at: number | null }>(
    'select expires_at from idempotency_keys where message_id = $1',
    [id],
  );
  expect(rows).toHaveLength(1);
  const inMs = (rows[0]?.expires_at ?? Infinity) - before;
  expect(Math.abs(inMs - node.config.CARILLON_IDEMPOTENCY_MS)).toBeLessThan(30_000);
});

it('a claim whose row has a later time of retry goes back until then, and is not sent', async () => {
  const message = await insertOverdue(60_000, { destination: `${node.sink.url}/not-yet` });
  const retryAtMs = Date.now() + HOUR / 2;
  await node.database.text('update messages set attempts = 1, next_attempt_at = $2 where id = $1', [
    message.id,
    new Date(retryAtMs).toISOString(),
  ]);
  const queue = new ShardQueue(redis, node.config.CARILLON_REDIS_PREFIX, queueTimes(node.config), {
    nowMs: () => Date.now(),
  });
  await queue.accept(message.shard, [{ id: message.id, dueAtMs: Date.now(), payload: '' }]);
  await until(async () => {
    expect(await redis.zscore(keysOf(message.shard).due, message.id)).toBe(String(retryAtMs));
  });
  expect(node.sink.calls.filter(of(message.id))).toEqual([]);
});

it('a callback is queued with its cause’s outcome, and waits for no sweep', async () => {
  const callbacks = Array.from({ length: 8 }, (_, n) => `/callback-${n}`);
  const startedAtMs = Date.now();
  await Promise.all(
    callbacks.map((path) =>
      publish(node, '/with-callback', { headers: { 'Upstash-Callback': `${node.sink.url}${path}` } }),
    ),
  );
  await node.sink.waitFor(callbacks.length, ({ path }) => callbacks.includes(path), 9_000);
  // No sweep takes rows as young as this.
  expect(Date.now() - startedAtMs).toBeLessThan(sweepSettings(node.config).createdBeforeMs);
});

it('a Redis that comes back as it was some time ago is filled again with what it forgot', async () => {
  const own = await ownRedis({ appendonly: 'no', save: '""' });
  const other = await startTestNode({
    CARILLON_REDIS_URL: own.url,
    // The node keeps its shards meanwhile.
    CARILLON_LEASE_MS: 10_000,
    CARILLON_RESCUE_EVERY_MS: HOUR,
    CARILLON_PROMOTE_EVERY_MS: HOUR,
  });
  try {
    const client = new Redis(own.url);
    await until(async () => expect(await shardsFilled(client, other)).toBe(other.config.CARILLON_SHARDS));
    await client.save();
    const id = await publish(other, '/forgotten', { headers: { 'Upstash-Delay': '4s' } });
    await until(async () => expect(await isQueued(client, other, id)).toBe(true));
    client.disconnect();
    await own.kill9();
    await own.restart();
    await other.sink.waitFor(1, of(id), 15_000);
    const { started_at: startedAtMs, due_at: dueAtMs } = await untilState(other, id, 'delivered');
    // A rescue takes nothing that is less than five seconds late.
    expect((startedAtMs ?? Infinity) - dueAtMs).toBeLessThan(4_000);
  } finally {
    await other.stop();
    await own.stop();
  }
});

async function isQueued(client: Redis, of: TestNode, id: string): Promise<boolean> {
  const shards = [...Array(of.config.CARILLON_SHARDS).keys()];
  const { CARILLON_REDIS_PREFIX: prefix } = of.config;
  const places = await Promise.all(shards.map((shard) => client.zscore(shardKeys(prefix, shard).due, id)));
  return places.some((place) => place !== null);
}

async function shardsFilled(client: Redis, of: TestNode): Promise<number> {
  const shards = [...Array(of.config.CARILLON_SHARDS).keys()];
  const states = await Promise.all(
    shards.map((shard) => client.hget(shardKeys(of.config.CARILLON_REDIS_PREFIX, shard).state, 'completed')),
  );
  return states.filter((completed) => completed !== null).length;
}
