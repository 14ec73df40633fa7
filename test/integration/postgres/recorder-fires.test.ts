// Firing in PostgreSQL: occurrences and the advance of their schedule are one step, fenced by the epoch and the generation.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { occurrenceMessage } from '../../../src/domain/occurrence.js';
import type { Schedule, ScheduleDefinition } from '../../../src/domain/schedule.js';
import { grantEpochs } from '../../../src/postgres/shards/epochs.js';
import { type Fire, recordFires } from '../../../src/postgres/schedules/fires.js';
import type { NewMessage } from '../../../src/postgres/messages/message-columns.js';
import { changeScheduleState, saveSchedule } from '../../../src/postgres/schedules/schedules.js';
import { openDatabase } from '../../kit/node.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';

const SHARD = 3;
const SECOND = 1_000;

let table: OpenRecorder;
let epoch: number;
let nowMs: number;
let counter = 0;
let schedule: Schedule;
beforeAll(async () => {
  table = await openRecorder();
});
afterAll(() => table.close());
beforeEach(async () => {
  nowMs = Math.ceil(Date.now() / SECOND) * SECOND;
  epoch = (await grantEpochs(table.database, 'this-node', [SHARD])).get(SHARD) ?? 0;
  schedule = await save(`schedule-${counter++}`, {});
});

async function save(id: string, given: Partial<ScheduleDefinition>): Promise<Schedule> {
  const message = aMessage();
  const definition: ScheduleDefinition = {
    destination: message.destination,
    method: message.method,
    headers: message.headers,
    body: message.body,
    maxRetries: 3,
    retryDelay: null,
    timeoutMs: 30_000,
    callback: null,
    failureCallback: null,
    labels: [],
    redact: null,
    callerIp: null,
    cron: '* * * * * *',
    timeZone: null,
    delayMs: 0,
    misfire: 'once',
    misfireWindowMs: 3_600_000,
    overlap: 'queue',
    windowMs: 0,
    startAtMs: null,
    endAtMs: null,
    keyTemplate: null,
    anchorMs: null,
    ...given,
  };
  const wanted = { tenantId: table.tenantId, id, shard: SHARD, definition };
  const decide = (): { state: 'active'; nextFireAtMs: number } => ({ state: 'active', nextFireAtMs: nowMs });
  return (await saveSchedule(table.database, wanted, decide, nowMs)).schedule;
}

/** Fires the occurrence at the schedule's next time; the schedule goes on a second later. */
function fireOf(fired: Schedule, given: Partial<Fire> & { held?: boolean; count?: number } = {}): Fire {
  const atMs = fired.nextFireAtMs ?? 0;
  const occurrences: NewMessage[] = Array.from({ length: given.count ?? 1 }, (_, index) => ({
    message: occurrenceMessage(fired, atMs + index * SECOND, nowMs),
    held: given.held ?? false,
    skipped: null,
  }));
  return { schedule: fired, epoch, nextFireAtMs: atMs + SECOND, lastFireAtMs: atMs, occurrences, ...given };
}

async function read(one = schedule): Promise<Schedule> {
  return (await table.recorder.readSchedule({ tenantId: one.tenantId, id: one.id }))!.schedule;
}

async function rows(one = schedule): Promise<{ state: string; reason: string | null; held: boolean }[]> {
  return table.database.text(
    'select state, reason, held from messages where schedule_id = $1 order by occurrence_at, id',
    [one.id],
  );
}

describe('a fire', () => {
  it('inserts the occurrence and advances the schedule', async () => {
    const fired = await table.recorder.fire(fireOf(schedule));
    expect(fired).toMatchObject({ result: 'advanced', messages: [{ occurrenceAtMs: nowMs, scheduleId: schedule.id }] });
    expect(await read()).toMatchObject({ nextFireAtMs: nowMs + SECOND, lastFireAtMs: nowMs });
    expect(await rows()).toMatchObject([{ state: 'pending', held: false }]);
  });

  it('that is repeated changes nothing', async () => {
    const fire = fireOf(schedule);
    await table.recorder.fire(fire);
    expect(await table.recorder.fire(fire)).toMatchObject({ result: 'changed', messages: [], released: [] });
    expect(await rows()).toHaveLength(1);
  });

  it('twice at once, by two recorders of one epoch, happens once', async () => {
    const other = openDatabase(table.url);
    const fires = [table.database, other].map((database) => recordFires(database, nowMs, [fireOf(schedule)]));
    const fired = (await Promise.all(fires)).flat();
    await other.close();
    expect(fired.filter(({ result }) => result === 'advanced')).toHaveLength(1);
    expect(await rows()).toHaveLength(1);
  });

  it('under an epoch that is not the current one does nothing', async () => {
    await grantEpochs(table.database, 'another-node', [SHARD]);
    expect((await table.recorder.fire(fireOf(schedule))).result).toBe('fenced');
    expect(await rows()).toEqual([]);
    expect(await read()).toMatchObject({ nextFireAtMs: nowMs, lastFireAtMs: null });
  });

  it('of a schedule that was paused, edited or deleted meanwhile does nothing; the pause has recorded what was due', async () => {
    const paused = await save('paused', {});
    await changeScheduleState(table.database, paused, () => ({ state: 'paused', nextFireAtMs: null }), nowMs);
    expect((await table.recorder.fire(fireOf(paused))).result).toBe('changed');

    const edited = await save('edited', {});
    await save('edited', { cron: '*/2 * * * * *' });
    expect((await table.recorder.fire(fireOf(edited))).result).toBe('changed');

    const deleted = await save('deleted', {});
    await table.database.run('delete-schedule', { tenantId: deleted.tenantId, id: deleted.id });
    expect((await table.recorder.fire(fireOf(deleted))).result).toBe('changed');
    expect(await rows(paused)).toEqual([{ state: 'skipped', reason: 'paused', held: false }]);
    for (const one of [edited, deleted]) expect(await rows(one)).toEqual([]);
  });

  it('of many schedules in one group fires those that may and leaves the others', async () => {
    const [good, stale, other] = [await save('good', {}), await save('stale', {}), await save('other', {})];
    const fired = await Promise.all([
      table.recorder.fire(fireOf(good)),
      table.recorder.fire({ ...fireOf(stale), schedule: { ...stale, generation: 9 } }),
      table.recorder.fire(fireOf(other)),
    ]);
    expect(fired.map(({ result }) => result)).toEqual(['advanced', 'changed', 'advanced']);
  });

  it('without a next time ends the schedule', async () => {
    await table.recorder.fire({ ...fireOf(schedule), nextFireAtMs: null });
    expect(await read()).toMatchObject({ state: 'ended', nextFireAtMs: null });
  });
});

describe('an occurrence that is held back', () => {
  it('waits while the one before it is under way, and goes with its end', async () => {
    const first = await table.recorder.fire(fireOf(schedule));
    schedule = await read();
    expect(await table.recorder.fire(fireOf(schedule, { held: true }))).toMatchObject({ messages: [], released: [] });
    expect((await rows()).map(({ held }) => held)).toEqual([false, true]);
    const recorded = await table.recorder.record(anOutcome(first.messages[0]!));
    expect(recorded.released).toMatchObject([{ shard: SHARD, dueAtMs: nowMs + SECOND }]);
    expect((await rows()).map(({ held }) => held)).toEqual([false, false]);
  });

  it('goes at once when the one before it ended between the look at it and the commit', async () => {
    const first = await table.recorder.fire(fireOf(schedule));
    schedule = await read();
    // Whoever fires has seen the first under way; its outcome comes before the fire does.
    expect(await table.recorder.readSchedule(schedule)).toMatchObject({ underWay: true, waiting: 0 });
    expect((await table.recorder.record(anOutcome(first.messages[0]!))).released).toEqual([]);
    const fired = await table.recorder.fire(fireOf(schedule, { held: true, count: 2 }));
    expect(fired.messages).toEqual([]);
    expect(fired.released).toMatchObject([{ shard: SHARD, dueAtMs: nowMs + SECOND }]);
    expect((await rows()).map(({ held }) => held)).toEqual([false, false, true]);
  });

  it('goes alone, though several ends come at once', async () => {
    const first = await table.recorder.fire(fireOf(schedule));
    schedule = await read();
    await table.recorder.fire(fireOf(schedule, { held: true, count: 3 }));
    const outcome = anOutcome(first.messages[0]!);
    await Promise.all([table.recorder.record(outcome), table.recorder.record(outcome)]);
    expect((await rows()).filter(({ held }) => held)).toHaveLength(2);
  });
});

describe("an occurrence's key", () => {
  it('that is taken makes the row a skip that names the holder', async () => {
    const holder = aMessage({ tenantId: table.tenantId, idempotencyKey: 'taken' });
    await table.recorder.accept([{ message: holder, keys: [{ scope: 'key', key: 'taken' }] }]);
    schedule = await save('with-key', { keyTemplate: 'taken' });
    expect((await table.recorder.fire(fireOf(schedule))).messages).toEqual([]);
    expect(await rows()).toEqual([
      { state: 'skipped', reason: `idempotency key "taken" is held by msg_${holder.id}`, held: false },
    ]);
  });

  it('that two occurrences of one fire share is the first one’s', async () => {
    schedule = await save('same-key', { keyTemplate: 'shared-{yyyy}' });
    const fired = await table.recorder.fire(fireOf(schedule, { count: 3 }));
    expect(fired.messages).toHaveLength(1);
    const reason = `idempotency key "${fired.messages[0]!.idempotencyKey!}" is held by msg_${fired.messages[0]!.id}`;
    expect(await rows()).toMatchObject([
      { state: 'pending' },
      { state: 'skipped', reason },
      { state: 'skipped', reason },
    ]);
  });
});
