// Moving a schedule's entry: the later change wins, whatever order changes arrive in, and none gets lost while the schedule is in flight.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scheduleEntry } from '../../../src/redis/keys.js';
import { claims, entry, EPOCH, HOUR, openQueue, type OpenQueue } from '../../kit/queue.js';

let open: OpenQueue;
let shard = 0;
let nowMs = 0;
beforeAll(async () => {
  open = await openQueue();
});
afterAll(() => open.close());

const ID = scheduleEntry(1, 'daily');

/** A shard of its own for each test. */
async function newShard(): Promise<void> {
  shard += 1;
  await open.ready(shard);
  nowMs = await open.nowMs();
}

async function place(): Promise<number | null> {
  const score = await open.redis.zscore(open.keys(shard).due, ID);
  return score === null ? null : Number(score);
}

async function claimIt(): Promise<string> {
  const [claim] = await claims(open.queue, shard);
  expect(claim?.id).toBe(ID);
  return claim!.token;
}

function fire(token: string, nextAtMs: number | null, generation: number) {
  return open.queue.fire(shard, EPOCH, [{ entry: ID, token, nextAtMs, generation, messages: [] }]);
}

describe('a schedule that waits', () => {
  it('is moved by a later change and not by an earlier one that comes late', async () => {
    await newShard();
    await open.queue.reschedule(shard, ID, nowMs + 1_000, 1);
    await open.queue.reschedule(shard, ID, nowMs + 9_000, 3);
    expect(await open.queue.reschedule(shard, ID, nowMs + 5_000, 2)).toEqual({
      result: 'outdated',
      earliestChanged: false,
    });
    expect(await place()).toBe(nowMs + 9_000);
  });

  it('says when the earliest entry changed, in either direction', async () => {
    await newShard();
    expect((await open.queue.reschedule(shard, ID, nowMs + 9_000, 1)).earliestChanged).toBe(true);
    expect((await open.queue.reschedule(shard, ID, nowMs + 1_000, 2)).earliestChanged).toBe(true);
    expect((await open.queue.reschedule(shard, ID, nowMs + 1_000, 2)).earliestChanged).toBe(false);
  });

  it('leaves Redis when it is paused or moves beyond the horizon', async () => {
    await newShard();
    await open.queue.reschedule(shard, ID, nowMs + 1_000, 1);
    expect((await open.queue.reschedule(shard, ID, null, 2)).result).toBe('out');
    expect(await place()).toBeNull();
    await open.queue.reschedule(shard, ID, nowMs + 1_000, 3);
    expect((await open.queue.reschedule(shard, ID, nowMs + 2 * HOUR, 4)).result).toBe('out');
    expect(await open.redis.hlen(open.keys(shard).task)).toBe(0);
  });

  it('is moved earlier by a sweep whose row says so, and never later', async () => {
    await newShard();
    await open.queue.reschedule(shard, ID, nowMs + 9_000, 1);
    const earlier = await open.queue.promote(shard, EPOCH, [entry(ID, nowMs + 1_000, '2')]);
    expect(earlier).toEqual({ kind: 'promoted', queued: 0, earliestChanged: true });
    expect(await place()).toBe(nowMs + 1_000);
    await open.queue.promote(shard, EPOCH, [entry(ID, nowMs + 5_000, '2')]);
    expect(await place()).toBe(nowMs + 1_000);
  });
});

describe('a schedule that is changed while it is in flight', () => {
  /** Claims it, as its holder does before it reads the row. */
  async function inFlight(): Promise<string> {
    await newShard();
    await open.queue.reschedule(shard, ID, nowMs - 10, 1);
    return claimIt();
  }

  it('goes to the new place, though its holder knew only the old calendar', async () => {
    const token = await inFlight();
    expect((await open.queue.reschedule(shard, ID, nowMs + 1_000, 2)).result).toBe('in-flight');
    await fire(token, nowMs + HOUR / 2, 1);
    expect(await place()).toBe(nowMs + 1_000);
    expect(await open.redis.hgetall(open.keys(shard).task)).toEqual({ [ID]: '2' });
  });

  it('goes where the row says when its holder read it after the change', async () => {
    const token = await inFlight();
    await open.queue.reschedule(shard, ID, nowMs + 1_000, 2);
    await fire(token, nowMs + 2_000, 2);
    expect(await place()).toBe(nowMs + 2_000);
  });

  it('comes back when it was paused as its holder saw it and resumed since', async () => {
    const token = await inFlight();
    await open.queue.reschedule(shard, ID, null, 2);
    await open.queue.reschedule(shard, ID, nowMs + 1_000, 3);
    await fire(token, null, 2);
    expect(await place()).toBe(nowMs + 1_000);
  });

  it('comes back when it was deleted and made again, whose generations begin anew', async () => {
    const token = await inFlight();
    await open.queue.reschedule(shard, ID, null, 5);
    await open.queue.reschedule(shard, ID, nowMs + 1_000, 1);
    await fire(token, nowMs + HOUR / 2, 5);
    expect(await place()).toBe(nowMs + 1_000);
    expect((await open.queue.reschedule(shard, ID, nowMs + 500, 2)).result).toBe('queued');
  });

  it('takes the latest of several changes, whatever order they arrive in', async () => {
    const token = await inFlight();
    await open.queue.reschedule(shard, ID, nowMs + 3_000, 3);
    await open.queue.reschedule(shard, ID, nowMs + 1_000, 2);
    await fire(token, nowMs + HOUR / 2, 1);
    expect(await place()).toBe(nowMs + 3_000);
  });

  it('leaves nothing behind, also when the claim lapsed meanwhile', async () => {
    const quick = await openQueue({ visibilityMs: 1 });
    await quick.ready(1);
    await quick.queue.reschedule(1, ID, 1, 1);
    await claims(quick.queue, 1);
    await quick.queue.reschedule(1, ID, (await quick.nowMs()) + 1_000, 2);
    await expect.poll(async () => (await claims(quick.queue, 1)).length).toBe(1);
    const [token] = await quick.redis.hvals(quick.keys(1).task).then((values) => values.filter((v) => v.includes('.')));
    await quick.queue.fire(1, EPOCH, [{ entry: ID, token: token!, nextAtMs: null, generation: 3, messages: [] }]);
    expect(await quick.redis.hkeys(quick.keys(1).task)).not.toContain(`moved:${ID}`);
    await quick.close();
  });
});
