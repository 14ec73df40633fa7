// Issue 12: a schedule is changed while occurrences of it are due and not fired. Nothing of the old definition is sent after the change was
// answered, so each of them has a row that says why it did not run.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../support/node.js';
import { expectInvariants, rowsOf, schedule, untilRows, type Row } from '../../support/work.js';

const MINUTE = 60_000;
const LATE = 8;

let node: TestNode;
/** The schedules' second of the minute, nearly a minute ahead, so that no slot falls into a test. */
let cron: string;
let lastSlotMs: number;

beforeAll(async () => {
  node = await startTestNode();
  const nowMs = Date.now();
  const second = (Math.floor(nowMs / 1_000) + 55) % 60;
  lastSlotMs = Math.floor((nowMs - second * 1_000) / MINUTE) * MINUTE + second * 1_000;
  cron = `${second} * * * * *`;
});
afterAll(async () => {
  await expectInvariants(node);
  await node.stop();
});

/** A schedule that stands at the time `minutes` before its last slot, as after so long without an owner; Redis knows its next slot alone. */
async function lateSchedule(id: string, misfire = 'all', minutes = LATE - 1): Promise<void> {
  await schedule(node, id, cron, { headers: { 'Carillon-Misfire': misfire } });
  await putBack(id, lastSlotMs - minutes * MINUTE);
}

async function putBack(id: string, toMs: number): Promise<void> {
  await node.database.text('update schedules set next_fire_at = $2 where id = $1', [id, new Date(toMs).toISOString()]);
}

async function ok(method: string, path: string, options: Parameters<TestNode['call']>[2] = {}): Promise<void> {
  const response = await node.call(method, path, options);
  expect(response.status, await response.text()).toBeLessThan(300);
}

/** The slots of the rows, 0 being the last that came, and their reasons. */
function skippedSlots(rows: readonly Row[], reason: RegExp): number[] {
  for (const row of rows)
    expect(row).toMatchObject({ state: 'skipped', reason: expect.stringMatching(reason) as string });
  return rows.map((row) => (lastSlotMs - (row.occurrence_at ?? 0)) / MINUTE);
}

const EIGHT = [7, 6, 5, 4, 3, 2, 1, 0];

describe('occurrences that are due when their schedule is changed (issue 12)', () => {
  it.each(['all', 'once', 'skip', 'all; window=3m'])(
    'have each a row after an edit, with misfire %s',
    async (misfire) => {
      const id = `edited-${misfire.replace(/\W/g, '')}`;
      await lateSchedule(id, misfire);
      await schedule(node, id, '0 0 1 1 *', { headers: { 'Carillon-Misfire': misfire } });
      expect(skippedSlots(await rowsOf(node, id), /^edited/)).toEqual(EIGHT);
    },
  );

  it('have each a row after a pause', async () => {
    await lateSchedule('paused');
    await ok('POST', '/v2/schedules/paused/pause');
    expect(skippedSlots(await rowsOf(node, 'paused'), /^paused/)).toEqual(EIGHT);
    await ok('POST', '/v2/schedules/paused/resume');
    expect(await rowsOf(node, 'paused')).toHaveLength(LATE);
  });

  it('have each a row after a deletion, and the schedule that is made again has none of them', async () => {
    await lateSchedule('deleted');
    await ok('DELETE', '/v2/schedules/deleted');
    expect(skippedSlots(await rowsOf(node, 'deleted'), /^deleted/)).toEqual(EIGHT);
    await schedule(node, 'deleted', cron);
    expect(await rowsOf(node, 'deleted')).toHaveLength(LATE);
  });

  it('have each a row after a batch that edits, pauses, or changes the destination of several', async () => {
    await Promise.all(['batch-a', 'batch-b', 'batch-c'].map((id) => lateSchedule(id)));
    const item = (id: string, headers: object, more: object = {}): object => ({
      destination: `${node.sink.url}/${id}`,
      headers: { 'Upstash-Schedule-Id': id, 'Carillon-Misfire': 'all', 'Upstash-Cron': cron, ...headers },
      ...more,
    });
    const body = JSON.stringify([
      item('batch-a', { 'Upstash-Cron': '0 0 1 1 *' }),
      item('batch-b', {}, { paused: true }),
      item('batch-c', { 'Carillon-Misfire': 'skip' }),
    ]);
    await ok('POST', '/v2/schedules/batch', { body, headers: { 'content-type': 'application/json' } });
    expect(skippedSlots(await rowsOf(node, 'batch-a'), /^edited/)).toEqual(EIGHT);
    expect(skippedSlots(await rowsOf(node, 'batch-b'), /^paused/)).toEqual(EIGHT);
    // The calendar is the same: they are fired by the new definition, whose policy leaves out what is late.
    const fired = await untilRows(node, 'batch-c', LATE);
    expect(fired.every(({ reason }) => reason === null || reason === 'misfire')).toBe(true);
  });

  it('are few rows and one that stands for the rest when they are many', async () => {
    await schedule(node, 'many', '* * * * * *');
    await ok('POST', '/v2/schedules/many/pause');
    const since = (await rowsOf(node, 'many')).length;
    await node.database.text(`update schedules set state = 'active', next_fire_at = $1 where id = 'many'`, [
      new Date(Math.floor(Date.now() / 1_000) * 1_000 - 20 * 24 * 60 * MINUTE).toISOString(),
    ]);
    await schedule(node, 'many', '0 0 1 1 *');
    const rows = (await rowsOf(node, 'many')).filter(({ reason }) => reason?.startsWith('edited'));
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.length + since).toBeLessThan(300);
    expect(rows.filter((row) => row.covers_until !== null)).toHaveLength(1);
  });

  it('are explained', async () => {
    await lateSchedule('explained');
    await schedule(node, 'explained', '0 0 1 1 *');
    const at = new Date(lastSlotMs - 3 * MINUTE).toISOString();
    const answer = (await (await node.call('GET', `/v2/schedules/explained/explain?at=${at}`)).json()) as {
      verdict: string;
      text: string;
    };
    expect(answer.verdict).toBe('skipped');
    expect(answer.text).toMatch(/edited/);
  });

  it('are counted', async () => {
    const response = await fetch(`${node.url}/metrics`, { headers: { authorization: `Bearer ${node.adminToken}` } });
    expect(await response.text()).toMatch(/carillon_occurrences_skipped_total\{reason="edited"\} [1-9]/);
  });
});
