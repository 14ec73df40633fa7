// What a pass of each sweep queues and what it leaves, over several batches, and what stops it.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { promote } from '../../../src/actor/sweeps/promote.js';
import { rescue, type Rescued, RESCUE_START } from '../../../src/actor/sweeps/rescue.js';
import type { SweepParts, Swept } from '../../../src/actor/sweeps/sweep.js';
import { ID_RANDOM_BYTES, messageId } from '../../../src/domain/ids.js';
import type { Message } from '../../../src/domain/message.js';
import { scheduleEntry } from '../../../src/redis/keys.js';
import { messageColumns, type NewMessage } from '../../../src/postgres/messages/message-columns.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { claims, entry, EPOCH, openQueue, type OpenQueue } from '../../kit/queue.js';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

let table: OpenRecorder;
let open: OpenQueue;
let parts: SweepParts;
let shard = 0;
let nowMs = 0;
let woken: number[];
beforeAll(async () => {
  [table, open] = await Promise.all([openRecorder(), openQueue()]);
  parts = {
    queue: open.queue,
    database: table.database,
    clock: { nowMs: () => nowMs },
    settings: { horizonMs: 24 * HOUR, promoteEveryMs: HOUR, batch: 7, createdBeforeMs: 10 * SECOND },
  };
});
afterAll(async () => {
  await Promise.all([table.close(), open.close()]);
});
beforeEach(async () => {
  shard += 1;
  woken = [];
  nowMs = await open.nowMs();
  await open.queue.fence(shard, EPOCH);
});

const swept = () => ({ shard, epoch: EPOCH, wake: (dueAtMs: number) => void woken.push(dueAtMs) });

const promoted = (): Promise<Swept> => promote(parts, swept());
const rescued = (overdueMs = 5 * SECOND, position = RESCUE_START, takenAtMs = 0): Promise<Rescued> =>
  rescue(parts, swept(), overdueMs, position, takenAtMs);

async function insert(given: Partial<Message> & { held?: boolean } = {}): Promise<Message> {
  const { held = false, ...rest } = given;
  const message = aMessage({ tenantId: table.tenantId, shard, createdAtMs: nowMs - HOUR, ...rest });
  const row: NewMessage = { message, held, skipped: null };
  await table.database.run('insert-messages', messageColumns([row]));
  return message;
}

async function insertAt(relativeMs: readonly number[], given: Partial<Message> = {}): Promise<string[]> {
  const messages = await Promise.all(relativeMs.map((ms) => insert({ dueAtMs: nowMs + ms, ...given })));
  return messages.map(({ id }) => id);
}

async function insertSchedule(id: string, nextMs: number | null, state = 'active'): Promise<string> {
  await table.database.text(
    `insert into schedules (tenant_id, id, shard, state, cron, anchor_at, destination, method, max_retries, timeout_ms, misfire,
       misfire_window_ms, overlap, next_fire_at, created_at, updated_at)
     values ($1, $2, $3, $4, '* * * * *', now(), 'http://a.test', 'POST', 3, 1000, 'once', 1000, 'allow', $5, now(), now())`,
    [table.tenantId, `${shard}-${id}`, shard, state, nextMs === null ? null : new Date(nowMs + nextMs).toISOString()],
  );
  return scheduleEntry(table.tenantId, `${shard}-${id}`);
}

const due = (): Promise<string[]> => open.redis.zrange(open.keys(shard).due, 0, '-1');
const place = async (id: string): Promise<number> => Number(await open.redis.zscore(open.keys(shard).due, id));

describe('a promotion', () => {
  it('fills an empty queue up to the horizon, soonest first, over as many batches as it takes', async () => {
    const ids = await insertAt(Array.from({ length: 40 }, (_, index) => -10 * SECOND + (index * HOUR) / 2));
    await insertAt([25.1 * HOUR, 300 * HOUR]);
    expect(await promoted()).toMatchObject({ queued: 40, fenced: false });
    expect(await due()).toEqual(ids);
    expect(woken[0]).toBe(nowMs - 10 * SECOND);
    const { announcedAtMs, completedAtMs } = await open.queue.horizons(shard);
    expect(completedAtMs).toBe(announcedAtMs);
    expect(completedAtMs).toBeGreaterThanOrEqual(nowMs + 25 * HOUR);
  });

  it('reads from the last completed horizon on, and repeats what one that died had read', async () => {
    await promoted();
    nowMs += HOUR;
    const [id] = await insertAt([24.5 * HOUR]);
    const { completedAtMs } = await open.queue.horizons(shard);
    // It died after its announcement.
    await open.queue.announce(shard, EPOCH, nowMs + 25.5 * HOUR);
    expect(await due()).toEqual([]);
    expect(await promoted()).toMatchObject({ queued: 1, read: 1 });
    expect(await due()).toEqual([id]);
    expect((await open.queue.horizons(shard)).completedAtMs).toBe(completedAtMs + HOUR);
  });

  it('brings a horizon down that is too far, and queues what nobody offered below it (issue 12, entry 8)', async () => {
    await promoted();
    // Accepted with a shorter horizon: due too late to be offered, and before the horizon that was completed.
    const [soon] = await insertAt([2 * HOUR]);
    const lowered = { ...parts, settings: { ...parts.settings, horizonMs: 2 * HOUR } };
    expect(await promote(lowered, swept())).toMatchObject({ queued: 1 });
    expect(await due()).toEqual([soon]);
    const { announcedAtMs, completedAtMs } = await open.queue.horizons(shard);
    expect(announcedAtMs).toBeLessThan(nowMs + 4 * HOUR);
    expect(completedAtMs).toBe(announcedAtMs);
  });

  it('leaves a horizon alone that is ahead by no more than clocks differ', async () => {
    await promoted();
    const before = await open.queue.horizons(shard);
    nowMs -= SECOND;
    expect(await promoted()).toMatchObject({ read: 0 });
    expect((await open.queue.horizons(shard)).announcedAtMs).toBe(before.announcedAtMs);
  });

  it('takes up what is due in the very millisecond of the last completed horizon, and not what is due before (issue 12)', async () => {
    await promoted();
    const { completedAtMs } = await open.queue.horizons(shard);
    const atMs = completedAtMs - nowMs;
    await insertAt([atMs - 1]);
    const [at, after] = await insertAt([atMs, atMs + 1]);
    await insertSchedule('before', atMs - 1);
    const schedules = [await insertSchedule('at', atMs), await insertSchedule('after', atMs + 1)];
    nowMs += HOUR;
    await promoted();
    expect((await due()).sort()).toEqual([at, after, ...schedules].sort());
  });

  it('queues many rows of one millisecond, more than a batch', async () => {
    await insertAt(Array.from({ length: 30 }, () => 5 * SECOND));
    expect(await promoted()).toMatchObject({ queued: 30 });
  });

  it('queues a retry at its own time, and nothing that is held, ended or of another shard', async () => {
    const message = await insert({ dueAtMs: nowMs - 10 * SECOND });
    await table.recorder.record(anOutcome(message, { state: 'pending', nextAttemptAtMs: nowMs + HOUR }));
    await insert({ dueAtMs: nowMs, held: true, overlap: 'queue', scheduleId: 'x' });
    await table.recorder.record(anOutcome(await insert({ dueAtMs: nowMs })));
    await insert({ dueAtMs: nowMs, shard: shard + 5_000 });
    expect(await promoted()).toMatchObject({ queued: 1 });
    expect(await place(message.id)).toBe(nowMs + HOUR);
  });

  it('queues the active schedules whose next time comes before the horizon', async () => {
    const soon = await Promise.all(
      Array.from({ length: 20 }, (_, index) => insertSchedule(`soon-${String(index).padStart(2, '0')}`, HOUR)),
    );
    const overdue = await insertSchedule('overdue', -HOUR);
    await insertSchedule('far', 30 * HOUR);
    await insertSchedule('paused', null, 'paused');
    expect(await promoted()).toMatchObject({ queued: 21 });
    expect(await due()).toEqual([overdue, ...soon]);
  });

  it('is refused under an older epoch, and marks nothing as completed', async () => {
    await insertAt([0]);
    await open.queue.fence(shard, EPOCH + 1);
    expect(await promoted()).toMatchObject({ fenced: true });
    expect(await open.queue.horizons(shard)).toEqual({ announcedAtMs: 0, completedAtMs: 0 });
    expect(await due()).toEqual([]);
  });
});

describe('a rescue', () => {
  beforeEach(async () => {
    await open.queue.announce(shard, EPOCH, nowMs + HOUR);
    await open.queue.complete(shard, EPOCH, nowMs + HOUR);
  });

  it('queues what is overdue and unknown to Redis, and leaves alone what it knows', async () => {
    const ids = await insertAt([-50 * SECOND, -40 * SECOND, -30 * SECOND, -20 * SECOND]);
    await open.queue.accept(shard, [entry(ids[0]!, nowMs - 50 * SECOND), entry(ids[1]!, nowMs + 9 * SECOND)]);
    const [flying] = await claims(open.queue, shard, 1);
    expect(flying?.id).toBe(ids[0]);
    expect(await rescued()).toMatchObject({ queued: 2, read: 4 });
    expect(await due()).toEqual([ids[2], ids[3], ids[1]]);
    // A message that was deferred keeps its place.
    expect(await place(ids[1]!)).toBe(nowMs + 9 * SECOND);
    expect(woken).toHaveLength(1);
    expect(woken[0]).toBeLessThanOrEqual(nowMs - 30 * SECOND);
  });

  it('leaves alone what is not overdue yet, and what was created a moment ago; a takeover finds the occurrences of before', async () => {
    await insertAt([-4 * SECOND, 0, HOUR]);
    await insert({ dueAtMs: nowMs - 6 * SECOND, createdAtMs: nowMs - 9 * SECOND });
    const occurrence = await insert({ kind: 'occurrence', dueAtMs: nowMs - 6 * SECOND, createdAtMs: nowMs });
    expect(await rescued()).toMatchObject({ queued: 0 });
    const ours = await insert({ kind: 'occurrence', dueAtMs: nowMs - 6 * SECOND, createdAtMs: nowMs + 1 });
    await rescued(0, RESCUE_START, nowMs + 1);
    expect(await due()).toContain(occurrence.id);
    expect(await due()).not.toContain(ours.id);
  });

  it('takes everything that is due after a takeover', async () => {
    const ids = await insertAt([-4 * SECOND, -1]);
    expect(await rescued(0)).toMatchObject({ queued: 2 });
    expect(await due()).toEqual(ids);
  });

  it('queues a retry that is overdue at its own time, and none that is still to come', async () => {
    const [late, coming] = [await insert({ dueAtMs: nowMs - HOUR }), await insert({ dueAtMs: nowMs - HOUR })];
    await table.recorder.record(anOutcome(late, { state: 'pending', nextAttemptAtMs: nowMs - 10 * SECOND }));
    await table.recorder.record(anOutcome(coming, { state: 'pending', nextAttemptAtMs: nowMs + 10 * SECOND }));
    await rescued();
    expect(await due()).toEqual([late.id]);
    expect(await place(late.id)).toBe(nowMs - 10 * SECOND);
  });

  it('goes through several batches', async () => {
    await insertAt(Array.from({ length: 45 }, (_, index) => -60 * SECOND + (index % 3)));
    expect(await rescued()).toMatchObject({ queued: 45 });
  });

  it('that is too long for one pass goes on in the next, and begins anew after the last row', async () => {
    const known = await insertAt(Array.from({ length: 145 }, (_, index) => -90 * SECOND + index));
    const [lost] = await insertAt([-60 * SECOND]);
    await open.queue.promote(
      shard,
      EPOCH,
      known.map((id, index) => entry(id, nowMs - 90 * SECOND + index)),
    );
    const first = await rescued();
    expect(first).toMatchObject({ queued: 0, read: 140 });
    const second = await rescued(5 * SECOND, first.position);
    expect(second.queued).toBe(1);
    expect(await due()).toContain(lost);
    // From the place where the first ended to the end, then from the start to that place, as far as a pass goes.
    expect(second.read).toBeGreaterThan(100);
  });

  it('lets a held occurrence go whose predecessor ended while nobody was there, the oldest alone', async () => {
    const held = { scheduleId: `held-${shard}`, overlap: 'queue', kind: 'occurrence', held: true } as const;
    const ids = [];
    for (const back of [30, 20]) {
      const dueAtMs = nowMs - back * SECOND;
      const id = messageId(dueAtMs, randomBytes(ID_RANDOM_BYTES));
      ids.push((await insert({ ...held, id, dueAtMs, occurrenceAtMs: dueAtMs })).id);
    }
    await rescued();
    expect(await due()).toEqual([ids[0]]);
    await rescued();
    expect(await due()).toEqual([ids[0]]);
  });

  it('queues overdue schedules, and moves those that wait for a later time than their row says', async () => {
    const lost = await insertSchedule('lost', -20 * SECOND);
    const misplaced = await insertSchedule('misplaced', -10 * SECOND);
    await open.queue.reschedule(shard, misplaced, nowMs + HOUR / 2, 1);
    const coming = await insertSchedule('coming', 20 * SECOND);
    expect(await rescued()).toMatchObject({ queued: 1, fenced: false });
    expect(await due()).toEqual([lost, misplaced]);
    expect(await place(misplaced)).toBe(nowMs - 10 * SECOND);
    expect(await due()).not.toContain(coming);
  });

  it('is refused under an older epoch', async () => {
    await insertAt([-50 * SECOND]);
    await open.queue.fence(shard, EPOCH + 1);
    expect(await rescued()).toMatchObject({ fenced: true, queued: 0 });
    expect(await due()).toEqual([]);
  });
});
