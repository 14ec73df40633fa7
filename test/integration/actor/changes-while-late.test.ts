// A schedule that is late is changed: what was due by its former definition has its record, and explain says why (issue 12, entry on late changes).
// It is made late by putting its row back; its entry in Redis is due at the next slot, nearly a minute away, so that nobody fires meanwhile.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { rowsOf, schedule, scheduleOf, untilRows } from '../../kit/work.js';

const MINUTE = 60_000;
const WEEK = 7 * 24 * 60 * MINUTE;

let node: TestNode;
let second: number;
/** The last slot that has come. */
let lastSlotMs: number;
beforeAll(async () => {
  node = await startTestNode();
  const nowMs = Date.now();
  second = (Math.floor(nowMs / 1_000) + 58) % 60;
  lastSlotMs = Math.floor((nowMs - second * 1_000) / MINUTE) * MINUTE + second * 1_000;
});
afterAll(() => node.stop());

const everyMinute = (): string => `${second} * * * * *`;

/** A schedule whose occurrences since `sinceMs` are due, and not fired yet. */
async function lateSchedule(id: string, sinceMs = lastSlotMs - 7 * MINUTE, more: object = {}): Promise<void> {
  await schedule(node, id, everyMinute(), { headers: { 'Carillon-Misfire': 'all', ...more } });
  await putBack(id, sinceMs);
}

async function putBack(id: string, sinceMs: number): Promise<void> {
  await node.database.text('update schedules set next_fire_at = $2, created_at = $3, anchor_at = $3 where id = $1', [
    ...[id, new Date(sinceMs).toISOString(), new Date(sinceMs - MINUTE).toISOString()],
  ]);
  await node.database.text('update schedule_changes set at = $2 where schedule_id = $1', [
    ...[id, new Date(sinceMs - MINUTE).toISOString()],
  ]);
}

const batchItem = (id: string, more: object = {}): object => ({
  ...{ destination: `${node.sink.url}/${id}`, ...more },
  headers: { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': id },
});

async function batch(...items: object[]): Promise<void> {
  const response = await node.call('POST', '/v2/schedules/batch', { body: JSON.stringify(items) });
  expect(response.status, await response.text()).toBe(200);
}

async function explain(id: string, atMs: number): Promise<{ verdict: string; text: string }> {
  const response = await node.call('GET', `/v2/schedules/${id}/explain?at=${atMs}`);
  return (await response.json()) as { verdict: string; text: string };
}

const CHANGES: Record<string, { reason: string; change: (id: string) => Promise<unknown> }> = {
  edit: { reason: 'edited', change: (id) => schedule(node, id, '0 0 1 1 *') },
  'edit of the zone': {
    reason: 'edited',
    change: (id) => schedule(node, id, everyMinute(), { headers: { 'Carillon-Time-Zone': 'Asia/Kolkata' } }),
  },
  pause: { reason: 'paused', change: (id) => node.call('POST', `/v2/schedules/${id}/pause`) },
  delete: { reason: 'deleted', change: (id) => node.call('DELETE', `/v2/schedules/${id}`) },
  'batch of edits': { reason: 'edited', change: (id) => batch(batchItem(id), batchItem(`${id}-2`)) },
  'batch of one': { reason: 'edited', change: (id) => batch(batchItem(id)) },
  'batch that pauses': { reason: 'paused', change: (id) => batch(batchItem(id, { paused: true })) },
  'delete and create': {
    reason: 'deleted',
    change: async (id) => {
      await node.call('DELETE', `/v2/schedules/${id}`);
      await schedule(node, id, '0 0 1 1 *');
    },
  },
};

describe('a change of a schedule that is late', () => {
  it.each(Object.keys(CHANGES))('by %s records each due occurrence as skipped, with its reason', async (name) => {
    const { reason, change } = CHANGES[name]!;
    const id = `late-${name.replaceAll(' ', '-')}`;
    await lateSchedule(id);
    await change(id);
    const rows = await rowsOf(node, id);
    expect(rows.map((row) => (lastSlotMs - row.occurrence_at!) / MINUTE)).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
    for (const row of rows) expect(row).toMatchObject({ state: 'skipped', reason, covers_until: null });
    for (const atMs of [lastSlotMs - 7 * MINUTE, lastSlotMs]) {
      expect(await explain(id, atMs)).toMatchObject({
        verdict: 'skipped',
        text: expect.stringContaining(`was not fired yet when the schedule was ${reason} at `) as string,
      });
    }
  });

  it.each(['skip', 'once'])('records them under misfire policy "%s" too', async (policy) => {
    await lateSchedule(`policy-${policy}`, lastSlotMs - 2 * MINUTE, { 'Carillon-Misfire': policy });
    await node.call('POST', `/v2/schedules/policy-${policy}/pause`);
    expect((await rowsOf(node, `policy-${policy}`)).map(({ reason }) => reason)).toEqual(Array(3).fill('paused'));
  });

  it('passes over nothing when its calendar stays: what is due is fired by the new definition', async () => {
    await lateSchedule('same-calendar');
    await schedule(node, 'same-calendar', everyMinute(), { headers: { 'Carillon-Misfire': 'all' }, body: 'new' });
    const rows = await untilRows(node, 'same-calendar', 8, ({ state }) => state !== 'pending');
    expect(rows.map(({ state }) => state)).toEqual(Array(8).fill('delivered'));
    const calls = node.sink.calls.filter(({ scheduleId }) => scheduleId === 'same-calendar');
    expect(calls.map(({ body }) => String(body))).toEqual(Array(8).fill('new'));
  });

  it('records nothing when nothing is due, nor a second time', async () => {
    await schedule(node, 'on-time', everyMinute());
    await node.call('POST', '/v2/schedules/on-time/pause');
    expect(await rowsOf(node, 'on-time')).toEqual([]);
    await lateSchedule('twice', lastSlotMs);
    await node.call('POST', '/v2/schedules/twice/pause');
    await node.call('POST', '/v2/schedules/twice/resume');
    await node.call('DELETE', '/v2/schedules/twice');
    expect((await rowsOf(node, 'twice')).map(({ reason }) => reason)).toEqual(['paused']);
  });

  it('leaves out what lies beyond its bounds', async () => {
    await lateSchedule('bounded');
    await node.database.text(`update schedules set end_at = $1 where id = 'bounded'`, [
      new Date(lastSlotMs - 5 * MINUTE).toISOString(),
    ]);
    await node.call('DELETE', '/v2/schedules/bounded');
    expect((await rowsOf(node, 'bounded')).map((row) => (lastSlotMs - row.occurrence_at!) / MINUTE)).toEqual([7, 6, 5]);
  });

  it('is bounded: of a week of seconds the newest 200 have rows, and one row stands for those before them', async () => {
    await schedule(node, 'week', '0 0 1 1 *');
    await node.database.text(`update schedules set cron = '* * * * * *' where id = 'week'`);
    await node.database.text(
      `update schedule_changes set detail = '{"cron":"* * * * * *"}' where schedule_id = 'week'`,
    );
    const sinceMs = lastSlotMs - WEEK;
    await putBack('week', sinceMs);
    await node.call('POST', '/v2/schedules/week/pause');
    const rows = await rowsOf(node, 'week');
    expect(rows).toHaveLength(201);
    expect(rows[0]).toMatchObject({ occurrence_at: sinceMs, covers_until: rows[1]!.occurrence_at! - 1_000 });
    expect(await explain('week', sinceMs + WEEK / 2)).toMatchObject({ verdict: 'skipped' });
  });

  it('makes the weeks that it needs for records that are older than all of them', async () => {
    const sinceMs = lastSlotMs - 20 * WEEK;
    await lateSchedule('ancient', sinceMs);
    await node.call('DELETE', '/v2/schedules/ancient');
    const rows = await rowsOf(node, 'ancient');
    expect(rows).toHaveLength(201);
    expect(rows[0]).toMatchObject({ occurrence_at: sinceMs });
  });

  it('of many at once shares the rows of a group among them', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `many-${index}`);
    await batch(...ids.map((id) => batchItem(id)));
    await node.database.text(`update schedules set cron = '* * * * * *', next_fire_at = $1 where id like 'many-%'`, [
      new Date(lastSlotMs - WEEK).toISOString(),
    ]);
    await batch(...ids.map((id) => batchItem(id)));
    const [counted] = await node.database.text<{ rows: number; schedules: number }>(
      `select count(*)::int as rows, count(distinct schedule_id)::int as schedules from messages where schedule_id like 'many-%'`,
    );
    expect(counted).toEqual({ rows: 2_100, schedules: 100 });
  });

  it('that nobody can read is edited and deleted all the same', async () => {
    await lateSchedule('faulty');
    await node.database.text(`update schedules set time_zone = 'Nowhere/Else' where id = 'faulty'`);
    await schedule(node, 'faulty', '0 0 1 1 *');
    expect(await scheduleOf(node, 'faulty')).toMatchObject({ state: 'active', generation: 2 });
    expect(await rowsOf(node, 'faulty')).toEqual([]);
  });
});

it('occurrences that a change passes over are counted by its kind', async () => {
  const response = await fetch(`${node.url}/metrics`, { headers: { authorization: `Bearer ${node.adminToken}` } });
  const figures = await response.text();
  for (const reason of ['edited', 'paused', 'deleted']) {
    expect(figures).toMatch(new RegExp(`carillon_occurrences_skipped_total\\{reason="${reason}"\\} [1-9]`));
  }
});
