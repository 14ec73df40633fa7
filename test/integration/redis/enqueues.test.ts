// Putting work in: what Redis takes, what it keeps of it, and what it refuses. Also in a Redis that is full.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { scheduleEntry } from '../../../src/redis/keys.js';
import { ownRedis, type OwnStore } from '../../kit/stores.js';
import { claims, entry, EPOCH, HOUR, openQueue, type OpenQueue } from '../../kit/queue.js';

let open: OpenQueue;
let shard = 0;
let nowMs = 0;
beforeAll(async () => {
  open = await openQueue();
});
afterAll(() => open.close());
beforeEach(async () => {
  shard += 1;
  await open.ready(shard);
  nowMs = await open.nowMs();
});

async function due(): Promise<string[]> {
  return open.redis.zrange(open.keys(shard).due, 0, '-1');
}

describe('an accept', () => {
  it('takes what is due before the announced horizon, and nothing from it on', async () => {
    const { announcedAtMs } = await open.queue.horizons(shard);
    await open.queue.accept(shard, [
      entry('before', announcedAtMs - 1),
      entry('at', announcedAtMs),
      entry('beyond', announcedAtMs + HOUR),
    ]);
    expect(await due()).toEqual(['before']);
  });

  it('takes nothing when the shard has no horizon', async () => {
    await open.redis.del(open.keys(shard).state);
    expect(await open.queue.accept(shard, [entry('m', nowMs, 'payload')])).toBe(false);
    expect(await open.dump(shard)).toMatchObject({ due: [], task: {} });
  });

  it('takes each entry once, and the first of its times and payloads', async () => {
    await open.queue.accept(shard, [entry('m', nowMs + 5, 'first')]);
    await open.queue.accept(shard, [entry('m', nowMs + 1, 'second'), entry('m', nowMs + 9, 'third')]);
    expect(await open.dump(shard)).toMatchObject({ due: ['m', String(nowMs + 5)], task: { m: 'first' } });
  });

  it('leaves alone what is in flight', async () => {
    await open.queue.accept(shard, [entry('m', nowMs)]);
    const [claim] = await claims(open.queue, shard);
    await open.queue.accept(shard, [entry('m', nowMs, 'again')]);
    expect(await due()).toEqual([]);
    expect(await open.redis.hget(open.keys(shard).task, 'm')).toBe(claim?.token);
  });

  it('keeps a payload only while nobody can have delivered the message before', async () => {
    await open.queue.accept(shard, [entry('fresh', nowMs, 'kept', nowMs - 4_000)]);
    await open.queue.accept(shard, [entry('late', nowMs + HOUR / 2, 'dropped', nowMs - 5_100)]);
    await open.queue.accept(shard, [entry('one', nowMs, 'dropped', nowMs - 5_100), entry('two', nowMs, 'dropped')]);
    await open.queue.accept(shard, [{ id: 'ageless', dueAtMs: nowMs, payload: 'dropped' }]);
    expect(await due()).toEqual(['ageless', 'fresh', 'one', 'two', 'late']);
    expect(await open.redis.hgetall(open.keys(shard).task)).toEqual({ fresh: 'kept' });
  });

  it('keeps no payload while a lost shard is filled again, nor afterwards of what the filling may have read', async () => {
    const payloads = (): Promise<Record<string, string>> => open.redis.hgetall(open.keys(shard).task);
    await open.queue.fence(shard, EPOCH + 1, true);
    await open.queue.announce(shard, EPOCH + 1, nowMs + HOUR);
    await open.queue.accept(shard, [entry('during', nowMs, 'dropped')]);
    await open.queue.complete(shard, EPOCH + 1, nowMs + HOUR);
    await open.queue.accept(shard, [entry('of before', nowMs, 'dropped')]);
    expect(await due()).toEqual(['during', 'of before']);
    expect(await payloads()).toEqual({});
    // The next completion is no filling.
    await open.queue.complete(shard, EPOCH + 1, nowMs + HOUR);
    await open.queue.accept(shard, [entry('after', nowMs, 'kept', nowMs + 2_000)]);
    expect(await payloads()).toEqual({ after: 'kept' });
  });

  it('says whether the earliest entry changed', async () => {
    const accept = (id: string, dueAtMs: number): Promise<boolean> => open.queue.accept(shard, [entry(id, dueAtMs)]);
    expect(await accept('a', nowMs + 50)).toBe(true);
    expect(await accept('b', nowMs + 90)).toBe(false);
    expect(await accept('c', nowMs + 10)).toBe(true);
    expect(await accept('c', nowMs + 1)).toBe(false);
  });
});

describe('a cancel', () => {
  it('takes out what waits, says what is in flight, and keeps a later accept and sweep from queueing it', async () => {
    await open.queue.accept(shard, [entry('flying', nowMs)]);
    await claims(open.queue, shard);
    await open.queue.accept(shard, [entry('waiting', nowMs + 50, 'payload')]);
    expect(await open.queue.cancel(shard, ['waiting', 'flying', 'unknown'])).toEqual([
      'taken-out',
      'in-flight',
      'absent',
    ]);
    expect(await open.redis.hexists(open.keys(shard).task, 'waiting')).toBe(0);
    await open.queue.accept(shard, [entry('waiting', nowMs), entry('unknown', nowMs)]);
    await open.queue.promote(shard, EPOCH, [entry('waiting', nowMs), entry('unknown', nowMs)]);
    expect(await due()).toEqual([]);
  });

  it('is forgotten after its time', async () => {
    const quick = await openQueue({ tombstoneMs: 20 });
    await quick.ready(1);
    await quick.queue.cancel(1, ['m']);
    await expect
      .poll(async () => {
        await quick.queue.accept(1, [entry('m', nowMs)]);
        return quick.redis.zcard(quick.keys(1).due);
      })
      .toBe(1);
    await quick.queue.cancel(1, ['other']);
    expect(await quick.redis.zrange(quick.keys(1).tomb, 0, '-1')).toEqual(['other']);
    await quick.close();
  });
});

describe('a promote', () => {
  it('moves the announced horizon on and never back, and completes it apart', async () => {
    const { announcedAtMs } = await open.queue.horizons(shard);
    await open.queue.announce(shard, EPOCH, announcedAtMs + 5);
    await open.queue.announce(shard, EPOCH, announcedAtMs - HOUR);
    await open.queue.complete(shard, EPOCH, nowMs);
    expect(await open.queue.horizons(shard)).toEqual({ announcedAtMs: announcedAtMs + 5, completedAtMs: nowMs });
  });

  it('queues many at once, each once, without payloads of what is past, and says how many', async () => {
    const entries = Array.from({ length: 500 }, (_, index) => entry(`m${index}`, nowMs - 1));
    expect(await open.queue.promote(shard, EPOCH, entries)).toEqual({
      kind: 'promoted',
      queued: 500,
      earliestChanged: true,
    });
    expect(await open.queue.promote(shard, EPOCH, entries)).toEqual({
      kind: 'promoted',
      queued: 0,
      earliestChanged: false,
    });
    expect(await open.redis.hlen(open.keys(shard).task)).toBe(0);
  });
});

describe('a fire', () => {
  const ID = scheduleEntry(1, 'every');

  async function claimed(): Promise<string> {
    await open.queue.reschedule(shard, ID, nowMs - 1, 1);
    const [claim] = await claims(open.queue, shard);
    expect(claim).toMatchObject({ id: ID, payload: '1' });
    return claim!.token;
  }

  it('puts the messages in and the schedule at its next time, in one step', async () => {
    const token = await claimed();
    const messages = [entry('m1', nowMs, 'payload'), entry('m2', nowMs + 2 * HOUR, 'beyond the horizon')];
    const firing = { entry: ID, token, nextAtMs: nowMs + 1_000, generation: 1, messages };
    expect(await open.queue.fire(shard, EPOCH, [firing])).toBe('fired');
    expect(await open.dump(shard)).toMatchObject({
      due: ['m1', String(nowMs), ID, String(nowMs + 1_000)],
      inflight: [],
      task: { m1: 'payload', [ID]: '1' },
    });
  });

  it('leaves the schedule out when its next time is beyond the horizon, or none is left', async () => {
    for (const nextAtMs of [nowMs + 2 * HOUR, null]) {
      const token = await claimed();
      await open.queue.fire(shard, EPOCH, [{ entry: ID, token, nextAtMs, generation: 1, messages: [] }]);
      expect(await open.dump(shard)).toMatchObject({ due: [], inflight: [], task: {} });
    }
  });

  it('with a claim that does not hold any more queues the messages and leaves the schedule to its holder', async () => {
    const token = await claimed();
    const firing = { entry: ID, token: 'an older one', nextAtMs: nowMs + 1_000, generation: 1 };
    await open.queue.fire(shard, EPOCH, [{ ...firing, messages: [entry('m', nowMs)] }]);
    expect(await due()).toEqual(['m']);
    expect(await open.redis.zrange(open.keys(shard).inflight, 0, '-1')).toEqual([ID]);
    await open.queue.fire(shard, EPOCH, [{ ...firing, token, messages: [] }]);
    expect(await due()).toEqual(['m', ID]);
  });

  it('of many schedules judges each for itself', async () => {
    const ids = ['a', 'b', 'c'].map((id) => scheduleEntry(1, id));
    for (const id of ids) await open.queue.reschedule(shard, id, nowMs - 1, 4);
    const held = await claims(open.queue, shard);
    const firings = held.map(({ id, token }, index) => ({
      entry: id,
      token: index === 1 ? 'wrong' : token,
      nextAtMs: nowMs + 10 + index,
      generation: 4,
      messages: [entry(`m-${id}`, nowMs)],
    }));
    await open.queue.fire(shard, EPOCH, firings);
    expect(await due()).toHaveLength(5);
    expect(await open.redis.zcard(open.keys(shard).inflight)).toBe(1);
  });
});

describe('a Redis that is full', () => {
  let store: OwnStore;
  let full: OpenQueue;
  let admin: Redis;
  beforeAll(async () => {
    store = await ownRedis();
    admin = new Redis(store.url);
    full = await openQueue({ visibilityMs: 50 }, store.url);
    await full.ready(1);
    await full.queue.accept(1, [
      entry('m1', nowMs, 'payload'),
      entry('m2', nowMs, 'payload'),
      entry('m3', nowMs + HOUR / 2),
    ]);
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.config('SET', 'maxmemory', '1');
  });
  afterAll(async () => {
    await full.close();
    admin.disconnect();
    await store.stop();
  });

  it('refuses new work as unavailable, without any of it having gone in', async () => {
    const before = await full.dump(1);
    const refused = { code: 'REDIS_UNAVAILABLE' };
    await expect(full.queue.accept(1, [entry('new', nowMs), entry('newer', nowMs)])).rejects.toMatchObject(refused);
    await expect(full.queue.promote(1, EPOCH, [entry('new', nowMs)])).rejects.toMatchObject(refused);
    await expect(full.queue.reschedule(1, scheduleEntry(1, 's'), nowMs, 1)).rejects.toMatchObject(refused);
    expect(await full.dump(1)).toEqual(before);
  });

  it('lets schedules that it has go on, with the messages of their occurrences, up to a bounded number', async () => {
    const keys = full.keys(2);
    const schedule = scheduleEntry(1, 'through');
    await admin.config('SET', 'maxmemory', '0');
    await full.ready(2);
    await full.queue.reschedule(2, schedule, nowMs - 1_000, 1);
    await admin.hset(keys.state, 'over', 999);
    await admin.config('SET', 'maxmemory', '1');
    const [claim] = await claims(full.queue, 2);
    const firing = { entry: schedule, token: claim!.token, nextAtMs: nowMs + HOUR / 2, generation: 1 };
    const messages = [entry('o1', nowMs + HOUR / 3, 'payload'), entry('o2', nowMs + HOUR / 3, 'payload')];
    expect(await full.queue.fire(2, EPOCH, [{ ...firing, messages }])).toBe('in-part');
    expect(await full.dump(2)).toMatchObject({
      due: ['o1', String(nowMs + HOUR / 3), schedule, String(nowMs + HOUR / 2)],
      inflight: [],
      task: { [schedule]: '1' },
    });
    await admin.config('SET', 'maxmemory', '0');
    await full.queue.promote(2, EPOCH, []);
    expect(await admin.hexists(keys.state, 'over')).toBe(0);
    await admin.config('SET', 'maxmemory', '1');
  });

  it('still lets claim, touch, settle, lapse, cancel and fence, so that it can get empty', async () => {
    const held = await claims(full.queue, 1);
    expect(held.map(({ id }) => id)).toEqual(['m1', 'm2']);
    expect(await full.queue.extendVisibility(1, held)).toEqual([true, true]);
    expect(await full.queue.settle(1, [{ ...held[0]!, backAtMs: null }])).toEqual([true]);
    await expect.poll(async () => (await claims(full.queue, 1)).map(({ id }) => id), { interval: 5 }).toEqual(['m2']);
    expect(await full.queue.cancel(1, ['m3'])).toEqual(['taken-out']);
    expect(await full.queue.fence(1, EPOCH + 1)).toMatchObject({ installed: true });
  });
});
