// What went wrong elsewhere when nobody was there at a slot: every missed occurrence is on the record, by the schedule's policy.
// A node that was down for an hour is made by putting the schedule back by an hour while the node is stopped.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { expectInvariants, rowsOf, schedule, scheduleOf, until, untilRows, type Row } from '../../kit/work.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let node: TestNode;
/** The schedules' second of the minute, nearly a minute ahead, so that no slot falls into the test. */
let second: number;
/** The last slot that has come. */
let lastSlotMs: number;
/** When the node came back. */
let backAtMs: number;

const POLICIES = {
  skip: 'skip',
  once: 'once',
  all: 'all',
  recent: 'all; window=10m',
} as const;

beforeAll(async () => {
  node = await startTestNode({ CARILLON_FIRE_BATCH: 7 });
  const nowMs = Date.now();
  second = (Math.floor(nowMs / 1_000) + 58) % 60;
  lastSlotMs = Math.floor((nowMs - second * 1_000) / MINUTE) * MINUTE + second * 1_000;
  const cron = `${second} * * * * *`;
  for (const [id, policy] of Object.entries(POLICIES)) {
    await schedule(node, id, cron, { headers: { 'Carillon-Misfire': policy } });
  }
  await schedule(node, 'long', cron, { headers: { 'Carillon-Misfire': 'skip' } });
  await schedule(node, 'ancient', '0 0 * * *', { headers: { 'Carillon-Misfire': 'once' } });
  await schedule(node, 'over', cron, {
    headers: { 'Carillon-Misfire': 'all', 'Carillon-End': new Date(lastSlotMs + 10 * MINUTE).toISOString() },
  });
  await schedule(node, 'steady', '* * * * * *');
  await node.sink.waitFor(1, ({ scheduleId }) => scheduleId === 'steady');

  await node.stopNode();
  const putBack = async (ids: string[], toMs: number): Promise<void> => {
    const values = [ids, new Date(toMs).toISOString()];
    await node.database.text('update schedules set next_fire_at = $2 where id = any($1)', values);
  };
  await putBack([...Object.keys(POLICIES), 'over'], lastSlotMs - 30 * MINUTE);
  await putBack(['long'], lastSlotMs - 1_440 * MINUTE);
  await putBack(['ancient'], Math.floor((nowMs - 200 * DAY) / DAY) * DAY);
  // Its end came while nobody was there.
  await node.database.text(`update schedules set end_at = $1 where id = 'over'`, [
    new Date(lastSlotMs - 5 * MINUTE).toISOString(),
  ]);
  await node.restartNode();
  backAtMs = Date.now();
});
afterAll(async () => {
  await expectInvariants(node);
  await node.stop();
});

/** Slots back from the last one, 0 being the last itself, of the rows in a state. */
async function slots(id: string, count: number): Promise<{ delivered: number[]; skipped: number[]; rows: Row[] }> {
  const rows = await untilRows(node, id, count, ({ state }) => state !== 'pending');
  const back = (state: string): number[] =>
    rows.filter((row) => row.state === state).map((row) => (lastSlotMs - (row.occurrence_at ?? 0)) / MINUTE);
  return { delivered: back('delivered'), skipped: back('skipped'), rows };
}

const down = (from: number, to: number): number[] => Array.from({ length: from - to + 1 }, (_, index) => from - index);

describe('after half an hour without a node (report 9)', () => {
  it('"skip" publishes only what is on time, and has a row with the reason for each other slot (report 14)', async () => {
    const { delivered, skipped, rows } = await slots('skip', 31);
    expect(delivered).toEqual([0]);
    expect(skipped).toEqual(down(30, 1));
    expect(rows.filter(({ state }) => state === 'skipped').map(({ reason }) => reason)).toEqual(
      Array.from({ length: 30 }, () => 'misfire'),
    );
  });

  it('"once" publishes the latest of the missed', async () => {
    const { delivered, skipped } = await slots('once', 31);
    expect(delivered).toEqual([1, 0]);
    expect(skipped).toEqual(down(30, 2));
  });

  it('"all" publishes each of them, once', async () => {
    const { delivered, skipped } = await slots('all', 31);
    expect(delivered).toEqual(down(30, 0));
    expect(skipped).toEqual([]);
    const calls = node.sink.calls.filter(({ scheduleId }) => scheduleId === 'all');
    expect(calls).toHaveLength(31);
  });

  it('"all" with a window publishes those within it and skips the older ones', async () => {
    const { delivered, skipped } = await slots('recent', 31);
    expect(delivered).toEqual(down(9, 0));
    expect(skipped).toEqual(down(30, 10));
  });

  it('a schedule whose end came meanwhile publishes what lay before it and ends', async () => {
    const { delivered } = await slots('over', 26);
    expect(delivered).toEqual(down(30, 5));
    await until(async () => expect(await scheduleOf(node, 'over')).toMatchObject({ state: 'ended' }));
  });

  it('every schedule stands at its next slot', async () => {
    for (const id of Object.keys(POLICIES)) {
      await slots(id, 31);
      expect((await scheduleOf(node, id))?.next_fire_at, id).toBe(lastSlotMs + MINUTE);
    }
  });

  it('the record says how many were skipped and why (report 14)', async () => {
    await slots('skip', 31);
    const response = await node.call('GET', '/v2/runs?schedule=skip&state=skipped&count=5');
    const { runs } = (await response.json()) as { runs: { reason: string; state: string }[] };
    expect(runs.map(({ state, reason }) => `${state}: ${reason}`)).toEqual(Array(5).fill('skipped: misfire'));
    const counts = await (await node.call('GET', '/v2/runs/counts?schedule=skip')).json();
    expect(JSON.stringify(counts)).toContain('30');
  });
});

describe('after a very long time without a node', () => {
  it('every slot of a day is covered by exactly one row, few as they are (report 9)', async () => {
    const rows = await untilRows(node, 'long', 1, ({ state }) => state === 'delivered').then(() =>
      rowsOf(node, 'long'),
    );
    expect(rows.length).toBeLessThan(300);
    let expectedMs = lastSlotMs - 1_440 * MINUTE;
    for (const row of rows) {
      expect(row.occurrence_at).toBe(expectedMs);
      expectedMs = (row.covers_until ?? row.occurrence_at ?? 0) + MINUTE;
    }
    expect(expectedMs).toBe(lastSlotMs + MINUTE);
  });

  it('slots older than any partition that was made have their rows too', async () => {
    const rows = await untilRows(node, 'ancient', 200, ({ state }) => state !== 'pending');
    expect(rows.filter(({ state }) => state === 'delivered')).toHaveLength(1);
    const atMs = rows.map(({ occurrence_at }) => occurrence_at ?? 0);
    expect(atMs.map((time, index) => time - atMs[0]! - index * DAY)).toEqual(atMs.map(() => 0));
  });
});

describe('a restart (report 10)', () => {
  it('leaves no slot out and repeats none', async () => {
    const isAfter = ({ occurrence_at }: Row): boolean => (occurrence_at ?? 0) > backAtMs;
    await untilRows(node, 'steady', 2, (row) => isAfter(row) && row.state === 'delivered');
    const atMs = (await rowsOf(node, 'steady')).map(({ occurrence_at }) => occurrence_at ?? 0);
    expect(atMs.map((time, index) => time - atMs[0]! - index * 1_000)).toEqual(atMs.map(() => 0));
    const calls = node.sink.calls.filter(({ scheduleId }) => scheduleId === 'steady');
    expect(new Set(calls.map(({ occurrence }) => occurrence)).size).toBe(calls.length);
  });
});
