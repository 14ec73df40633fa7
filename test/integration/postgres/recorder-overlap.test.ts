// What the overlap policies ask of PostgreSQL: which occurrences wait, and which of them may go once their predecessor ended.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.js';
import { messageColumns } from '../../../src/postgres/messages/message-columns.js';
import { lookUntil, releaseHeld } from '../../../src/postgres/messages/outcomes.js';
import { planOf } from '../../kit/plans.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';

let table: OpenRecorder;
let count = 0;
let scheduleId = '';
beforeAll(async () => {
  table = await openRecorder();
});
afterAll(() => table.close());
beforeEach(() => {
  count += 1;
  scheduleId = `schedule-${count}`;
});

const BASE_MS = Date.now();

/** The n-th occurrence of a schedule, in the record. */
async function occurrence(n: number, given: Partial<Message> & { held?: boolean } = {}): Promise<Message> {
  const { held = false, ...rest } = given;
  const message = aMessage({
    tenantId: table.tenantId,
    kind: 'occurrence',
    scheduleId,
    overlap: 'queue',
    dueAtMs: BASE_MS + n,
    ...rest,
  });
  await table.database.run('insert-messages', messageColumns([{ message, held, skipped: null }]));
  return message;
}

async function saveSchedule(id: string, overlap: string): Promise<void> {
  await table.database.text(
    `insert into schedules (tenant_id, id, shard, cron, anchor_at, destination, method, max_retries, timeout_ms, misfire,
       misfire_window_ms, overlap, next_fire_at, created_at, updated_at)
     values ($1, $2, 0, '* * * * *', now(), 'http://127.0.0.1:9/', 'POST', 3, 1000, 'once', 0, $3, now(), now(), now())`,
    [table.tenantId, id, overlap],
  );
}

describe('an occurrence that waits', () => {
  it('goes after its predecessor ended, one at a time', async () => {
    const first = await occurrence(0);
    const second = await occurrence(1, { held: true });
    const third = await occurrence(2, { held: true });
    const after = await table.recorder.record(anOutcome(first));
    expect(after.released.map(({ id }) => id)).toEqual([second.id]);
    const retried = await table.recorder.record(anOutcome(second, { state: 'pending' }));
    expect(retried.released).toEqual([]);
    const failed = await table.recorder.record(anOutcome(second, { state: 'failed', attempt: 2 }));
    expect(failed.released.map(({ id }) => id)).toEqual([third.id]);
  });

  it('goes after a predecessor of the policy "skip", which was changed to "queue" in between', async () => {
    const first = await occurrence(0, { overlap: 'skip' });
    const second = await occurrence(1, { held: true });
    const { released } = await table.recorder.record(anOutcome(first));
    expect(released).toMatchObject([{ id: second.id, shard: second.shard, dueAtMs: second.dueAtMs }]);
  });

  it('goes with those of other schedules in one statement', async () => {
    const firsts: Message[] = [];
    const seconds: Message[] = [];
    for (let n = 0; n < 5; n++) {
      scheduleId = `together-${n}`;
      firsts.push(await occurrence(0));
      seconds.push(await occurrence(1, { held: true }));
    }
    const recorded = await Promise.all(firsts.map((message) => table.recorder.record(anOutcome(message))));
    expect(recorded.map(({ released }) => released.map(({ id }) => id))).toEqual(seconds.map(({ id }) => [id]));
  });

  it('stays while another one is under way', async () => {
    await occurrence(5);
    await occurrence(1, { held: true });
    expect(await releaseHeld(table.database, [{ tenantId: table.tenantId, scheduleId }], lookUntil(BASE_MS))).toEqual(
      [],
    );
  });
});

describe('a claimed schedule', () => {
  it('tells what is under way and what waits, unless its policy does not ask', async () => {
    await occurrence(0);
    await occurrence(1, { held: true });
    await saveSchedule(scheduleId, 'queue');
    const key = { tenantId: table.tenantId, id: scheduleId };
    expect(await table.recorder.readSchedule(key)).toMatchObject({ underWay: true, waiting: 1 });
    await table.database.text('update schedules set overlap = $1 where id = $2', ['allow', scheduleId]);
    expect(await table.recorder.readSchedule(key)).toMatchObject({ underWay: false, waiting: 0 });
  });

  it('reads no message where its policy is "allow"', async () => {
    await saveSchedule(scheduleId, 'allow');
    const keys = { tenantIds: [table.tenantId], ids: [scheduleId] };
    const plan = await planOf(table.database, '(costs off)', 'select-schedules-to-fire', keys);
    expect(plan.split('\n').filter((line) => line.includes(' on messages'))).toEqual([]);
  });
});
