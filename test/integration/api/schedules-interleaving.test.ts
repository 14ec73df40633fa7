// A schedule that is saved, edited or deleted while its shard is swept, stepped by hand in every order: its entry is in Redis at the time
// of its row, or earlier. Too early is harmless, since whoever claims it reads the row; too late would lose an occurrence.
//
// A change takes two steps: the row is committed, then Redis is told the new place. A sweep takes four: it announces the new horizon,
// reads PostgreSQL from the last completed one (recur), queues what it read, and marks the horizon as completed.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scheduleEntry } from '../../../src/redis/keys.js';
import { timestamp } from '../../kit/timestamp.js';
import { type ScheduleToPromote, schedulesToPromote } from '../../../src/postgres/messages/sweep-reads.js';
import { orders } from '../../kit/merges.js';
import { openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { EPOCH, openQueue, type OpenQueue } from '../../kit/queue.js';

let table: OpenRecorder;
let open: OpenQueue;
let shard = 0;
beforeAll(async () => {
  [table, open] = await Promise.all([openRecorder(), openQueue()]);
});
afterAll(async () => {
  await Promise.all([table.close(), open.close()]);
});

type Step = 'commit' | 'place' | 'announce' | 'read' | 'queue' | 'complete';
const SWEEP: readonly Step[] = ['announce', 'read', 'queue', 'complete'];
const CHANGE: readonly Step[] = ['commit', 'place'];

/** What the row says after a change: its next fire, null where it was deleted, and its generation. */
interface Row {
  readonly nextMs: number | null;
  readonly generation: number;
}

class Play {
  readonly shard = ++shard;
  readonly id = `s${shard}`;
  readonly entry = scheduleEntry(table.tenantId, this.id);
  #rows: ScheduleToPromote[] = [];

  private constructor(readonly nowMs: number) {}

  /** A shard that was swept up to now. */
  static async begin(): Promise<Play> {
    const play = new Play(await open.nowMs());
    await open.queue.fence(play.shard, EPOCH);
    await open.queue.announce(play.shard, EPOCH, play.nowMs);
    await open.queue.complete(play.shard, EPOCH, play.nowMs);
    return play;
  }

  get horizonAtMs(): number {
    return this.nowMs + 60_000;
  }

  async write({ nextMs, generation }: Row): Promise<void> {
    if (nextMs === null) {
      await table.database.run('delete-schedule', { tenantId: table.tenantId, id: this.id });
      return;
    }
    await table.database.text(
      `insert into schedules (tenant_id, id, shard, generation, next_fire_at, cron, anchor_at, destination, method, max_retries, timeout_ms,
         misfire, misfire_window_ms, overlap, created_at, updated_at)
       values ($1, $2, $3, $4, $5, '@daily', now(), 'http://a.test', 'POST', 0, 1000, 'once', 1000, 'allow', now(), now())
       on conflict (tenant_id, id) do update set next_fire_at = excluded.next_fire_at, generation = excluded.generation`,
      [table.tenantId, this.id, this.shard, generation, timestamp(nextMs)],
    );
  }

  async place({ nextMs, generation }: Row): Promise<void> {
    await open.queue.reschedule(this.shard, this.entry, nextMs, generation);
  }

  async step(step: Step, row: Row): Promise<void> {
    switch (step) {
      case 'commit':
        return this.write(row);
      case 'place':
        return this.place(row);
      case 'announce':
        await open.queue.announce(this.shard, EPOCH, this.horizonAtMs);
        return;
      case 'read':
        this.#rows = await schedulesToPromote(table.database, {
          shard: this.shard,
          after: { atMs: this.nowMs, tenantId: 0, id: '' },
          untilMs: this.horizonAtMs,
          limit: 100,
        });
        return;
      case 'queue': {
        const entries = this.#rows.map((one) => ({
          id: scheduleEntry(one.tenantId, one.id),
          dueAtMs: one.nextFireAtMs,
          payload: String(one.generation),
        }));
        if (entries.length > 0) await open.queue.promote(this.shard, EPOCH, entries);
        return;
      }
      case 'complete':
        await open.queue.complete(this.shard, EPOCH, this.horizonAtMs);
    }
  }

  /** When Redis will bring the schedule up; null where it will not. */
  async dueMs(): Promise<number | null> {
    const score = await open.redis.zscore(open.keys(this.shard).due, this.entry);
    return score === null ? null : Number(score);
  }
}

describe('a schedule that is saved while its shard is swept', () => {
  it.each(orders(CHANGE, SWEEP))('is in Redis at its time: %s', async (_name, steps) => {
    const play = await Play.begin();
    const row = { nextMs: play.nowMs + 1_000, generation: 1 };
    for (const step of steps) await play.step(step, row);
    expect(await play.dueMs()).toBe(row.nextMs);
  });

  it.each(orders(['commit'], SWEEP))(
    'is in Redis, or for the rescue to find, when its node died before it told: %s',
    async (_name, steps) => {
      const play = await Play.begin();
      const row = { nextMs: play.nowMs + 1_000, generation: 1 };
      for (const step of steps) await play.step(step, row);
      const isSeen = steps.indexOf('commit') < steps.indexOf('read');
      expect(await play.dueMs()).toBe(isSeen ? row.nextMs : null);
    },
  );
});

describe('a schedule that is edited while its shard is swept', () => {
  it.each(orders(CHANGE, SWEEP))('to an earlier time is in Redis by then: %s', async (_name, steps) => {
    const play = await Play.begin();
    await play.write({ nextMs: play.nowMs + 5_000, generation: 1 });
    const row = { nextMs: play.nowMs + 1_000, generation: 2 };
    for (const step of steps) await play.step(step, row);
    expect(await play.dueMs()).toBe(row.nextMs);
  });

  it.each(orders(CHANGE, SWEEP))('to a later time is in Redis by then: %s', async (_name, steps) => {
    const play = await Play.begin();
    await play.write({ nextMs: play.nowMs + 1_000, generation: 1 });
    const row = { nextMs: play.nowMs + 5_000, generation: 2 };
    for (const step of steps) await play.step(step, row);
    const dueMs = await play.dueMs();
    expect(dueMs).not.toBeNull();
    expect(dueMs).toBeLessThanOrEqual(row.nextMs);
  });

  it.each(orders(CHANGE, SWEEP))('from beyond the horizon is in Redis by then: %s', async (_name, steps) => {
    const play = await Play.begin();
    await play.write({ nextMs: play.nowMs + 3_600_000, generation: 1 });
    const row = { nextMs: play.nowMs + 1_000, generation: 2 };
    for (const step of steps) await play.step(step, row);
    expect(await play.dueMs()).toBe(row.nextMs);
  });
});

describe('a schedule that is deleted while its shard is swept', () => {
  it.each(orders(CHANGE, SWEEP))('is out of Redis, or comes up once and has no row: %s', async (_name, steps) => {
    const play = await Play.begin();
    await play.write({ nextMs: play.nowMs + 1_000, generation: 1 });
    for (const step of steps) await play.step(step, { nextMs: null, generation: 1 });
    const isReadBefore = steps.indexOf('read') < steps.indexOf('commit');
    const isQueuedAfter = steps.indexOf('place') < steps.indexOf('queue');
    expect(await play.dueMs()).toBe(isReadBefore && isQueuedAfter ? play.nowMs + 1_000 : null);
    const rows = await table.database.run('select-schedules-to-fire', { tenantIds: [table.tenantId], ids: [play.id] });
    expect(rows).toEqual([]);
  });
});
