// Claiming and ending claims: who may, what a claim brings, and what is left of one that lapsed.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claims, entry, EPOCH, HOUR, openQueue, type OpenQueue } from '../../kit/queue.js';

let open: OpenQueue;
let shard = 0;
let nowMs = 0;
beforeAll(async () => {
  open = await openQueue();
});
afterAll(() => open.close());
/** A shard of its own for each test. */
beforeEach(async () => {
  shard += 1;
  await open.ready(shard);
  nowMs = await open.nowMs();
});

describe('a fence', () => {
  it('is installed once with its epoch, and replaced by a higher one only', async () => {
    const fresh = shard + 1_000;
    expect(await open.queue.fence(fresh, 5)).toEqual({
      installed: true,
      previousEpoch: null,
      announcedAtMs: 0,
      completedAtMs: 0,
    });
    expect(await open.queue.fence(fresh, 5)).toMatchObject({ installed: true, previousEpoch: 5 });
    expect(await open.queue.fence(fresh, 9)).toMatchObject({ installed: true, previousEpoch: 5 });
    expect(await open.queue.fence(fresh, 8)).toMatchObject({ installed: false });
    expect((await open.queue.claim(fresh, 8, 1)).kind).toBe('stale');
    expect((await open.queue.claim(fresh, 9, 1)).kind).toBe('claimed');
  });

  it('reads nothing of what the shard holds, and says which horizons it has', async () => {
    const before = await open.dump(shard);
    await open.queue.complete(shard, EPOCH, nowMs + 5);
    const fence = await open.queue.fence(shard, EPOCH + 1);
    expect(fence).toMatchObject({ completedAtMs: nowMs + 5, previousEpoch: EPOCH });
    expect(await open.queue.horizons(shard)).toEqual({
      announcedAtMs: fence.announcedAtMs,
      completedAtMs: nowMs + 5,
    });
    expect({ ...(await open.dump(shard)), state: null }).toEqual({ ...before, state: null });
  });

  it('that is missing refuses every decision, and that is newer too', async () => {
    await open.queue.accept(shard, [entry('a', nowMs - 1)]);
    const decisions = async (epoch: number): Promise<string[]> => [
      (await open.queue.claim(shard, epoch, 1)).kind,
      (await open.queue.promote(shard, epoch, [entry('b', nowMs)])).kind,
      ...[await open.queue.announce(shard, epoch, nowMs), await open.queue.fire(shard, epoch, [])].map((reply) =>
        typeof reply === 'string' ? reply : reply.kind,
      ),
    ];
    expect(await decisions(EPOCH - 1)).toEqual(['stale', 'stale', 'stale', 'stale']);
    const held = await open.dump(shard);
    expect(held).toMatchObject({ due: ['a', String(nowMs - 1)], inflight: [] });
    await open.redis.del(open.keys(shard).state);
    expect(await decisions(EPOCH)).toEqual(['lost', 'lost', 'lost', 'lost']);
  });

  it('heals when Redis comes back with an older epoch than the owner has', async () => {
    await open.queue.fence(shard, EPOCH + 3);
    await open.redis.hset(open.keys(shard).state, 'epoch', EPOCH);
    expect((await open.queue.claim(shard, EPOCH + 3, 1)).kind).toBe('claimed');
    expect((await open.queue.claim(shard, EPOCH, 1)).kind).toBe('stale');
  });
});

describe('a claim', () => {
  it('takes what is due, oldest first, at most as many as asked, and tells when the next is due', async () => {
    const entries = [3, 1, 2].map((order) => entry(`m${order}`, nowMs - 10 + order, `payload ${order}`));
    await open.queue.accept(shard, [...entries, entry('later', nowMs + 60_000)]);
    const first = await open.queue.claim(shard, EPOCH, 2);
    expect(first).toMatchObject({
      kind: 'claimed',
      claims: [
        { id: 'm1', payload: 'payload 1', dueAtMs: nowMs - 9 },
        { id: 'm2', payload: 'payload 2', dueAtMs: nowMs - 8 },
      ],
      nextDueAtMs: nowMs - 7,
    });
    const second = await open.queue.claim(shard, EPOCH, 10);
    expect(second).toMatchObject({ claims: [{ id: 'm3' }], nextDueAtMs: nowMs + 60_000 });
    expect(await open.queue.claim(shard, EPOCH, 10)).toMatchObject({ claims: [], nextDueAtMs: nowMs + 60_000 });
  });

  it('takes nothing before its time', async () => {
    await open.queue.accept(shard, [entry('soon', nowMs + 400)]);
    await expect.poll(async () => (await claims(open.queue, shard)).length, { interval: 1 }).toBe(1);
    expect(await open.nowMs()).toBeGreaterThanOrEqual(nowMs + 400);
  });

  it('gives each entry a token of its own, also over epochs', async () => {
    await open.queue.accept(shard, [entry('a', 1), entry('b', 2)]);
    const tokens = (await claims(open.queue, shard)).map(({ id, token }) => [id, token] as const);
    for (const [id, token] of tokens) await open.queue.settle(shard, [{ id, token, backAtMs: 1 }]);
    const again = (await claims(open.queue, shard, 10, EPOCH + 1)).map(({ token }) => token);
    expect(new Set([...tokens.map(([, token]) => token), ...again]).size).toBe(4);
  });

  it('carries any text as payload, as it was', async () => {
    const payload = '\0 "quotes" \\ \u{1f514} \ufffd\r\n' + 'x'.repeat(10_000);
    await open.queue.accept(shard, [entry('odd', nowMs, payload)]);
    const [claim] = await claims(open.queue, shard);
    expect(claim?.payload).toBe(payload);
  });

  it('takes a thousand at once', async () => {
    await open.queue.accept(
      shard,
      Array.from({ length: 1_000 }, (_, index) => entry(`m${index}`, nowMs)),
    );
    expect(await claims(open.queue, shard, 1_000)).toHaveLength(1_000);
    expect((await open.dump(shard)).due).toEqual([]);
  });
});

describe('a claim that lapses', () => {
  let quick: OpenQueue;
  beforeAll(async () => {
    quick = await openQueue({ visibilityMs: 30 });
  });
  afterAll(() => quick.close());

  async function claimed(): Promise<{ id: string; token: string }> {
    await quick.ready(shard);
    await quick.queue.accept(shard, [entry('m', nowMs, 'payload')]);
    const [claim] = await claims(quick.queue, shard);
    expect(claim).toMatchObject({ id: 'm', payload: 'payload' });
    return claim!;
  }

  async function claimedAgain(): Promise<{ id: string; token: string; payload: string }> {
    let again: { id: string; token: string; payload: string } | undefined;
    await expect.poll(async () => ([again] = await claims(quick.queue, shard))[0]?.id, { interval: 1 }).toBe('m');
    return again!;
  }

  it('says when, and comes back without its payload, because it may have been sent', async () => {
    const first = await claimed();
    const reply = await quick.queue.claim(shard, EPOCH, 1);
    expect(reply).toMatchObject({ claims: [] });
    expect(reply.kind === 'claimed' && reply.nextExpiryAtMs).toBeGreaterThan(nowMs);
    const again = await claimedAgain();
    expect(again.payload).toBe('');
    expect(again.token).not.toBe(first.token);
  });

  it('can no longer be settled or touched by who had it, and can by who has it', async () => {
    const first = await claimed();
    const again = await claimedAgain();
    expect(await quick.queue.settle(shard, [{ ...first, backAtMs: null }])).toEqual([false]);
    expect(await quick.queue.extendVisibility(shard, [first])).toEqual([false]);
    expect(await quick.queue.extendVisibility(shard, [again])).toEqual([true]);
    expect(await quick.queue.settle(shard, [{ ...again, backAtMs: null }])).toEqual([true]);
    expect(await quick.dump(shard)).toMatchObject({ due: [], inflight: [], task: {} });
  });

  it('can still be settled by a former owner while nobody has claimed it again', async () => {
    const first = await claimed();
    await quick.queue.fence(shard, EPOCH + 1);
    expect(await quick.queue.settle(shard, [{ ...first, backAtMs: null }])).toEqual([true]);
    expect(await quick.dump(shard)).toMatchObject({ due: [], inflight: [], task: {} });
  });

  it('does not lapse while it is touched', async () => {
    const first = await claimed();
    const untilMs = (await quick.nowMs()) + 120;
    while ((await quick.nowMs()) < untilMs) {
      const [held] = await quick.queue.extendVisibility(shard, [first]);
      if (held !== true) break;
      expect(await claims(quick.queue, shard)).toEqual([]);
    }
    expect(await quick.queue.settle(shard, [{ ...first, backAtMs: null }])).toEqual([true]);
  });
});

describe('a settled claim', () => {
  async function claimOf(id: string): Promise<{ id: string; token: string }> {
    await open.queue.accept(shard, [entry(id, nowMs - 1, 'payload')]);
    const { token } = (await claims(open.queue, shard)).find((claim) => claim.id === id)!;
    return { id, token };
  }

  it('is gone, with all that it had', async () => {
    const claim = await claimOf('m');
    expect(await open.queue.settle(shard, [{ ...claim, backAtMs: null }])).toEqual([true]);
    expect(await open.dump(shard)).toMatchObject({ due: [], inflight: [], task: {} });
    expect(await open.queue.settle(shard, [{ ...claim, backAtMs: null }])).toEqual([false]);
  });

  it('comes back at its time, without a payload, however far that is', async () => {
    const claim = await claimOf('m');
    await open.queue.settle(shard, [{ ...claim, backAtMs: nowMs + 100 * HOUR }]);
    expect(await open.dump(shard)).toMatchObject({ due: ['m', String(nowMs + 100 * HOUR)], task: {} });
    await open.redis.zadd(open.keys(shard).due, 1, 'm');
    expect(await claims(open.queue, shard)).toMatchObject([{ id: 'm', payload: '' }]);
  });

  it('comes back with its payload where it was not sent', async () => {
    const claim = await claimOf('m');
    await open.queue.settle(shard, [{ ...claim, backAtMs: 1, payload: 'payload' }]);
    expect(await claims(open.queue, shard)).toMatchObject([{ id: 'm', payload: 'payload' }]);
  });

  it('comes back without it where it was canceled meanwhile', async () => {
    const claim = await claimOf('m');
    expect(await open.queue.cancel(shard, ['m'])).toEqual(['in-flight']);
    await open.queue.settle(shard, [{ ...claim, backAtMs: 1, payload: 'payload' }]);
    expect(await claims(open.queue, shard)).toMatchObject([{ id: 'm', payload: '' }]);
  });

  it('comes back without it where another claim has it', async () => {
    const claim = await claimOf('m');
    expect(await open.queue.settle(shard, [{ id: 'm', token: 'of before', backAtMs: 1, payload: 'payload' }])).toEqual([
      false,
    ]);
    expect(await open.redis.hget(open.keys(shard).task, 'm')).toBe(claim.token);
  });

  it('among others is judged for itself', async () => {
    const [a, b] = [await claimOf('a'), await claimOf('b')];
    const settlements = [a, { ...b, token: 'not this one' }, { id: 'unknown', token: b.token }];
    expect(
      await open.queue.settle(
        shard,
        settlements.map((one) => ({ ...one, backAtMs: null })),
      ),
    ).toEqual([true, false, false]);
    expect(await open.redis.zrange(open.keys(shard).inflight, 0, '-1')).toEqual(['b']);
  });
});

it('a claim brings what is due by Redis’s clock, to the millisecond (issue 12)', async () => {
  // One entry for each millisecond around the present: a claim that is early or late by a few of them shows at once, every time.
  for (let round = 0; round < 20; round++) {
    shard += 1;
    await open.ready(shard);
    nowMs = await open.nowMs();
    const entries = Array.from({ length: 600 }, (_, n) => entry(`${n}`, nowMs - 100 + n));
    await open.queue.promote(shard, EPOCH, entries);
    const beforeMs = await open.nowMs();
    const reply = await open.queue.claim(shard, EPOCH, entries.length);
    const afterMs = await open.nowMs();
    const lastMs = reply.kind === 'claimed' ? Math.max(...reply.claims.map(({ dueAtMs }) => dueAtMs)) : NaN;
    expect(lastMs).toBeGreaterThanOrEqual(Math.min(beforeMs, nowMs + 499));
    expect(lastMs).toBeLessThanOrEqual(afterMs);
  }
});

describe('scripts that Redis forgot', () => {
  it('are sent again, without anything happening twice', async () => {
    for (let round = 0; round < 3; round++) {
      await open.redis.script('FLUSH');
      await open.queue.accept(shard, [entry(`m${round}`, nowMs)]);
      await open.redis.script('FLUSH');
      const [claim] = await claims(open.queue, shard);
      expect(claim?.id).toBe(`m${round}`);
      await open.redis.script('FLUSH');
      expect(await open.queue.settle(shard, [{ ...claim!, backAtMs: null }])).toEqual([true]);
    }
    expect(await open.redis.hget(open.keys(shard).state, 'claims')).toBe('3');
  });
});
