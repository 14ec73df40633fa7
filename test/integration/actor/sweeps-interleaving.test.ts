// Accept and sweep, stepped by hand in every order: the row is queued by one of them or both, and is in Redis once.
//
// A client's message takes two steps: its row is committed, then it is offered. A sweep takes three: it announces the new horizon, reads
// PostgreSQL from the last completed one, and queues what it read. A schedule's fire is the same as an accept: committed, then put.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageIdFloor } from '../../../src/domain/ids.js';
import type { Message } from '../../../src/domain/message.js';
import { scheduleEntry } from '../../../src/redis/keys.js';
import { messageColumns, pending } from '../../../src/postgres/messages/message-columns.js';
import { type MessageToPromote, messagesToPromote } from '../../../src/postgres/messages/sweep-reads.js';
import { orders } from '../../kit/merges.js';
import { aMessage, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { claims, entry, EPOCH, openQueue, type OpenQueue } from '../../kit/queue.js';

let table: OpenRecorder;
let open: OpenQueue;
let shard = 0;
beforeAll(async () => {
  [table, open] = await Promise.all([openRecorder(), openQueue()]);
});
afterAll(async () => {
  await Promise.all([table.close(), open.close()]);
});

type Step = 'commit' | 'offer' | 'fire' | 'announce' | 'read' | 'queue' | 'cancel-row' | 'cancel-queue';

interface Play {
  readonly shard: number;
  readonly message: Message;
  readonly horizonAtMs: number;
  /** Up to where a former sweep came. */
  readonly completedAtMs: number;
  rows: MessageToPromote[];
}

async function play(step: Step, on: Play): Promise<void> {
  const { message, horizonAtMs } = on;
  switch (step) {
    case 'commit':
      await table.database.run('insert-messages', messageColumns([pending(message)]));
      return;
    case 'offer':
      await open.queue.accept(on.shard, [entry(message.id, message.dueAtMs, 'payload')]);
      return;
    case 'announce':
      await open.queue.announce(on.shard, EPOCH, horizonAtMs);
      return;
    case 'read':
      on.rows = await messagesToPromote(table.database, {
        shard: on.shard,
        fromId: messageIdFloor(on.completedAtMs),
        untilId: messageIdFloor(horizonAtMs),
        horizonAtMs,
        limit: 100,
      });
      return;
    case 'queue':
      await open.queue.promote(
        on.shard,
        EPOCH,
        on.rows.map((row) => ({ ...row, payload: '' })),
      );
      await open.queue.complete(on.shard, EPOCH, horizonAtMs);
      return;
    case 'cancel-row':
      await table.database.run('cancel-messages', { tenantId: table.tenantId, ids: [message.id], nowMs: Date.now() });
      return;
    case 'fire':
      throw new Error('the test fires by itself');
    case 'cancel-queue':
      await open.queue.cancel(on.shard, [message.id]);
  }
}

/** A shard swept up to now, and a message that is due between that horizon and the next one. */
async function newPlay(): Promise<Play> {
  shard += 1;
  const nowMs = await open.nowMs();
  await open.queue.fence(shard, EPOCH);
  await open.queue.announce(shard, EPOCH, nowMs);
  await open.queue.complete(shard, EPOCH, nowMs);
  const message = aMessage({ tenantId: table.tenantId, shard, dueAtMs: nowMs + 1_000 });
  return { shard, message, horizonAtMs: nowMs + 60_000, completedAtMs: nowMs, rows: [] };
}

const SWEEP: readonly Step[] = ['announce', 'read', 'queue'];

describe('a message that is accepted while its shard is swept', () => {
  it.each(orders(['commit', 'offer'], SWEEP))('is in Redis once: %s', async (_name, steps) => {
    const on = await newPlay();
    for (const step of steps) await play(step, on);
    expect(await open.redis.zrange(open.keys(on.shard).due, 0, '-1')).toEqual([on.message.id]);
  });

  it.each(orders(['commit'], SWEEP))(
    'is queued by the sweep, or by the next one, when its node died before the offer: %s',
    async (_name, steps) => {
      const on = await newPlay();
      for (const step of steps) await play(step, on);
      const queued = await open.redis.zcard(open.keys(on.shard).due);
      const isSeen = steps.indexOf('commit') < steps.indexOf('read');
      // What it missed is due before the completed horizon, and so is for the rescue to find.
      expect(queued).toBe(isSeen ? 1 : 0);
    },
  );

  it.each(orders(['offer', 'commit'], SWEEP))(
    'is not lost either way round, though nobody offers before the commit: %s',
    async (_name, steps) => {
      const on = await newPlay();
      for (const step of steps) await play(step, on);
      const isEnqueued = steps.indexOf('announce') < steps.indexOf('offer');
      const isRead = steps.indexOf('commit') < steps.indexOf('read');
      expect(await open.redis.zcard(open.keys(on.shard).due)).toBe(isEnqueued || isRead ? 1 : 0);
    },
  );
});

describe('a message that is canceled while its shard is swept', () => {
  it.each(orders(['cancel-row', 'cancel-queue'], SWEEP))('is not in Redis afterwards: %s', async (_name, steps) => {
    const on = await newPlay();
    await play('commit', on);
    for (const step of steps) await play(step, on);
    expect(await open.redis.zrange(open.keys(on.shard).due, 0, '-1')).toEqual([]);
  });

  it.each(orders(['cancel-row', 'cancel-queue'], ['offer']))(
    'is not in Redis when its offer comes late: %s',
    async (_name, steps) => {
      const on = await newPlay();
      await play('commit', on);
      await play('announce', on);
      for (const step of steps) await play(step, on);
      expect(await open.redis.zrange(open.keys(on.shard).due, 0, '-1')).toEqual([]);
    },
  );
});

describe('a schedule that fires while its shard is swept', () => {
  it.each(orders(['commit', 'fire'], SWEEP))(
    'has its occurrence and its next place in Redis once: %s',
    async (_name, steps) => {
      const on = await newPlay();
      const id = scheduleEntry(table.tenantId, 'firing');
      await open.queue.announce(on.shard, EPOCH, on.completedAtMs + 10);
      await open.queue.reschedule(on.shard, id, on.completedAtMs, 1);
      const [claim] = await claims(open.queue, on.shard);
      for (const step of steps) {
        if (step !== 'fire') {
          await play(step, on);
          continue;
        }
        const messages = [entry(on.message.id, on.message.dueAtMs)];
        const nextAtMs = on.completedAtMs + 2_000;
        await open.queue.fire(on.shard, EPOCH, [{ entry: id, token: claim!.token, nextAtMs, generation: 1, messages }]);
      }
      const due = await open.redis.zrange(open.keys(on.shard).due, 0, '-1');
      const isQueued = steps.indexOf('announce') < steps.indexOf('fire');
      // Fired before the announcement, the schedule lies beyond the horizon: the sweep reads it (recur) after announcing.
      expect(due).toEqual(isQueued ? [on.message.id, id] : [on.message.id]);
    },
  );
});

/** Ways for a sweep to take rows of any age: from the beginning, and from a horizon that has passed (issue 12, entry 5). */
const REFILLS: readonly [string, (on: Play) => Promise<unknown>][] = [
  ['which was lost', (on) => open.queue.fence(on.shard, EPOCH, true)],
  ['whose horizon has passed', (on) => open.redis.hset(open.keys(on.shard).state, 'filled', 0)],
];

describe.each(REFILLS)('a message that is accepted while its shard, %s, is filled again', (_way, prepare) => {
  it.each(orders(['commit', 'offer'], SWEEP))(
    'carries no payload if it may have been delivered before its offer came: %s',
    async (_name, steps) => {
      const on = await newPlay();
      await prepare(on);
      const now = { ...on, message: { ...on.message, dueAtMs: await open.nowMs() } };
      await open.queue.announce(on.shard, EPOCH, now.message.dueAtMs + 1);
      let delivered = 0;
      for (const step of steps) {
        await play(step, now);
        // Whatever is there is delivered, its outcome recorded and settled, at once.
        for (const claim of await claims(open.queue, on.shard)) {
          if (claim.payload !== '' || delivered === 0) delivered += 1;
          await open.queue.settle(on.shard, [{ id: claim.id, token: claim.token, backAtMs: null }]);
        }
      }
      expect(delivered).toBe(1);
    },
  );
});
