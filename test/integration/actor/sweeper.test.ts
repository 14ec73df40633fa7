// When the sweeps of a shard run: also where its epoch is renewed all the time, and where PostgreSQL is slow.

import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ShardActor } from '../../../src/actor/shard-actor.js';
import { Deferred } from '../../../src/actor/deferred.js';
import { Sweeper } from '../../../src/actor/sweeper.js';
import { rescue, RESCUE_START } from '../../../src/actor/sweeps/rescue.js';
import type { SweepParts } from '../../../src/actor/sweeps/sweep.js';
import { ID_RANDOM_BYTES, messageId } from '../../../src/domain/ids.js';
import { messageColumns, pending } from '../../../src/postgres/messages/message-columns.js';
import { aMessage, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { EPOCH, HOUR, openQueue, type OpenQueue } from '../../kit/queue.js';
import { processTime } from '../../../src/time/process-time.js';

const SHARDS = 1_000_000;

let table: OpenRecorder;
let open: OpenQueue;
let parts: SweepParts;
let shard = 0;
let sweeper: Sweeper | null = null;
beforeAll(async () => {
  [table, open] = await Promise.all([openRecorder(), openQueue()]);
  const settings = { horizonMs: HOUR, promoteEveryMs: HOUR, batch: 1, createdBeforeMs: 0 };
  parts = { queue: open.queue, database: table.database, clock: table.clock, settings };
});
beforeEach(async () => {
  shard += 1;
  await open.queue.fence(shard, EPOCH);
});
afterEach(() => sweeper?.stop());
afterAll(async () => {
  await Promise.all([table.close(), open.close()]);
});

interface Actor {
  readonly shard: number;
  epoch: number;
  readonly isStopping: boolean;
  wake(): void;
}

function anActor(of = shard): Actor {
  return { shard: of, epoch: EPOCH, isStopping: false, wake: () => undefined };
}

function add(actor: Actor, lost: boolean): void {
  sweeper?.add(actor as unknown as ShardActor, lost);
}

function aSweeper(promoteEveryMs: number, rescueEveryMs = HOUR, shards = SHARDS): Sweeper {
  return new Sweeper(parts, { shards, promoteEveryMs, rescueEveryMs, time: processTime }, pino({ level: 'silent' }));
}

async function promoted(): Promise<boolean> {
  return (await open.queue.horizons(shard)).completedAtMs > 0;
}

it('a shard is promoted in its time, however often its epoch is renewed meanwhile', async () => {
  // The first turn comes after half of the period.
  sweeper = aSweeper(400, HOUR, 2 * shard);
  const actor = anActor();
  add(actor, false);
  const renewing = setInterval(() => add(actor, false), 20);
  await expect.poll(promoted, { timeout: 5_000 }).toBe(true);
  clearInterval(renewing);
});

it('a promote that a renewal cut off is made up for at once', async () => {
  sweeper = aSweeper(HOUR, HOUR, 2 * shard);
  const actor = anActor();
  await open.queue.fence(shard, EPOCH + 1);
  add(actor, true);
  await expect.poll(() => sweeper?.backlog).toBe(0);
  expect(await promoted()).toBe(false);
  actor.epoch = EPOCH + 1;
  add(actor, false);
  await expect.poll(promoted, { timeout: 5_000 }).toBe(true);
});

it('sweeps do not pile up while PostgreSQL is slow', async () => {
  sweeper = aSweeper(10, 10);
  const actors = Array.from({ length: 6 }, (_, n) => anActor(shard + n));
  await table.database.transaction(async (connection) => {
    await connection.text('lock table messages in access exclusive mode');
    for (const actor of actors) add(actor, true);
    // Time for twenty periods.
    await connection.text('select pg_sleep(0.2)');
    expect(sweeper?.backlog).toBeLessThanOrEqual(2 * actors.length);
  });
  await sweeper.stop();
  shard += actors.length;
});

it('a rescue goes on where the one before ended, and begins again after the last', async () => {
  const nowMs = Date.now();
  table.clock.value = nowMs;
  const messages = Array.from({ length: 25 }, (_, n) => {
    const dueAtMs = nowMs - 10_000 + n;
    return aMessage({ id: messageId(dueAtMs, randomBytes(ID_RANDOM_BYTES)), tenantId: table.tenantId, shard, dueAtMs });
  });
  await table.database.run('insert-messages', messageColumns(messages.map(pending)));
  await open.queue.announce(shard, EPOCH, nowMs + HOUR);
  const swept = { shard, epoch: EPOCH, wake: () => undefined };

  const first = await rescue(parts, swept, 0);
  expect(first).toMatchObject({ queued: 20, read: 20, position: messages[19]?.id });
  const second = await rescue(parts, swept, 0, first.position);
  expect(second).toMatchObject({ queued: 5 });
  expect(await open.redis.zcard(open.keys(shard).due)).toBe(25);
  const third = await rescue(parts, swept, 0, second.position);
  expect(third.queued).toBe(0);

  await open.redis.zrem(open.keys(shard).due, messages[3]?.id ?? '');
  let position = messages[22]?.id ?? RESCUE_START;
  ({ position } = await rescue(parts, swept, 0, position));
  expect(await open.redis.zcard(open.keys(shard).due)).toBe(25);
  expect(position).not.toBe(RESCUE_START);
});

it('of many lost shards all announce their horizons before the first is filled, and their soonest work is filled first (issue 12, 9)', async () => {
  const shards = Array.from({ length: 12 }, (_, index) => shard * 1_000 + index);
  const firstMs = table.clock.value + 60_000;
  const rows = shards.flatMap((of, index) =>
    [0, 1, 2].map((round) =>
      pending(aMessage({ tenantId: table.tenantId, shard: of, dueAtMs: firstMs + round * 60_000 + index * 1_000 })),
    ),
  );
  await table.database.run('insert-messages', messageColumns(rows));
  for (const of of shards) await open.queue.fence(of, EPOCH);

  const filled: { readonly shard: number; readonly dueAtMs: number }[] = [];
  const announced: number[] = [];
  const allAnnounced = new Deferred();
  let atFirst: number | null = null;
  const watched: Partial<Pick<typeof open.queue, 'announce' | 'promote'>> = {
    // Nobody goes on before all have announced: with a turn for it, they never would.
    announce: async (of, epoch, horizonAtMs) => {
      const result = await open.queue.announce(of, epoch, horizonAtMs);
      announced.push(of);
      if (announced.length === shards.length) allAnnounced.resolve();
      await allAnnounced.promise;
      return result;
    },
    promote: (of, epoch, entries) => {
      atFirst ??= announced.length;
      for (const { dueAtMs } of entries) filled.push({ shard: of, dueAtMs });
      return open.queue.promote(of, epoch, entries);
    },
  };
  const queue = new Proxy(open.queue, {
    get: (target, name) => {
      const value: unknown = Reflect.get(watched, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  // A batch of two brings one new row: the last one is read again.
  parts = { ...parts, queue, settings: { ...parts.settings, batch: 2 } };
  sweeper = aSweeper(HOUR, HOUR, shards.length);
  for (const of of shards) add(anActor(of), true);
  await expect.poll(() => sweeper?.backlog, { timeout: 10_000 }).toBe(0);
  parts = { ...parts, queue: open.queue, settings: { ...parts.settings, batch: 1 } };

  expect(atFirst).toBe(shards.length);
  const roundOf = ({ dueAtMs }: { readonly dueAtMs: number }): number => Math.floor((dueAtMs - firstMs) / 60_000);
  const lastOfFirstRound = filled.findLastIndex((entry) => roundOf(entry) === 0);
  const firstOfLastRound = filled.findIndex((entry) => roundOf(entry) === 2);
  expect(lastOfFirstRound).toBeLessThan(firstOfLastRound);
});
