// What happens to an occurrence while the one before it is still being delivered: the receiver holds its answers back.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Call } from '../../kit/sink.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import {
  expectInvariants,
  rowsOf,
  schedule,
  startMetronome,
  until,
  untilRows,
  type Metronome,
} from '../../kit/work.js';

let node: TestNode;
let metronome: Metronome;

/** Answers that are held back, by schedule, in the order of the calls. */
const held = new Map<string, (() => void)[]>();
/** Schedules whose answers are held back from now on. */
const holding = new Set<string>();
const underWay = new Map<string, number>();
const mostUnderWay = new Map<string, number>();

function hold({ scheduleId = '' }: Call): Promise<Record<string, never>> {
  const count = (underWay.get(scheduleId) ?? 0) + 1;
  underWay.set(scheduleId, count);
  mostUnderWay.set(scheduleId, Math.max(count, mostUnderWay.get(scheduleId) ?? 0));
  const done = (): Record<string, never> => {
    underWay.set(scheduleId, (underWay.get(scheduleId) ?? 0) - 1);
    return {};
  };
  if (!holding.has(scheduleId)) return Promise.resolve(done());
  return new Promise((resolve) => {
    const waiting = held.get(scheduleId) ?? [];
    held.set(scheduleId, [...waiting, () => resolve(done())]);
  });
}

/** Lets all go that wait, and holds no more back. */
function letGo(scheduleId: string): void {
  holding.delete(scheduleId);
  const waiting = held.get(scheduleId) ?? [];
  held.delete(scheduleId);
  for (const answer of waiting) answer();
}

beforeAll(async () => {
  node = await startTestNode({ CARILLON_OVERLAP_QUEUE_MAX: 3 });
  node.sink.answer(hold);
  metronome = await startMetronome(node);
});
afterAll(async () => {
  await expectInvariants(node);
  for (const id of [...held.keys()]) letGo(id);
  await node.stop();
});

async function untilNumber(read: () => number | undefined, least: number): Promise<void> {
  await vi.waitFor(() => expect(read()).toBeGreaterThanOrEqual(least), { timeout: 15_000, interval: 20 });
}

async function start(id: string, overlap: string): Promise<void> {
  holding.add(id);
  await schedule(node, id, '* * * * * *', { headers: { 'Carillon-Overlap': overlap } });
  await untilNumber(() => held.get(id)?.length, 1);
}

async function states(id: string): Promise<string[]> {
  return (await rowsOf(node, id)).map(({ state, reason }) => (reason === null ? state : `${state}: ${reason}`));
}

describe.concurrent('an occurrence that comes while the one before is under way', () => {
  it('runs beside it under "allow"', async () => {
    await start('allow', 'allow');
    await untilNumber(() => mostUnderWay.get('allow'), 2);
    letGo('allow');
    await node.call('DELETE', '/v2/schedules/allow');
    await until(async () => expect(new Set(await states('allow'))).toEqual(new Set(['delivered'])));
  });

  it('is a skipped row with the reason under "skip", and the next one after the end runs (report 14)', async () => {
    await start('skip', 'skip');
    await untilRows(node, 'skip', 2, ({ state }) => state === 'skipped');
    letGo('skip');
    await untilRows(node, 'skip', 2, ({ state }) => state === 'delivered');
    const rows = await rowsOf(node, 'skip');
    expect(rows[0]?.state).toBe('delivered');
    expect(rows[1]).toMatchObject({ state: 'skipped', reason: 'overlap', attempts: 0 });
    expect(mostUnderWay.get('skip')).toBe(1);
    await node.call('DELETE', '/v2/schedules/skip');
  });

  it('waits under "queue": one after the other, in order, and too many are skipped', async () => {
    await start('queue', 'queue');
    await untilRows(node, 'queue', 3, ({ held: isHeld }) => isHeld);
    await untilRows(node, 'queue', 1, ({ state }) => state === 'skipped');
    letGo('queue');
    await untilRows(node, 'queue', 6, ({ state }) => state === 'delivered');
    await node.call('DELETE', '/v2/schedules/queue');
    expect(mostUnderWay.get('queue')).toBe(1);
    const rows = await rowsOf(node, 'queue');
    expect(rows.slice(0, 5).map(({ state, reason }) => reason ?? state)).toEqual([
      ...Array<string>(4).fill('delivered'),
      'overlap: too many are waiting',
    ]);
    const order = node.sink.calls.filter(({ scheduleId }) => scheduleId === 'queue').map((call) => call.occurrence);
    expect(order).toEqual([...order].sort());
  });

  it('goes when the one before it is canceled under "queue"', async () => {
    await start('canceled', 'queue');
    const [first] = await rowsOf(node, 'canceled');
    await untilRows(node, 'canceled', 1, ({ held: isHeld }) => isHeld);
    const response = await node.call('DELETE', `/v2/messages/msg_${first!.id.replaceAll('-', '')}`);
    expect(response.status).toBe(200);
    await untilNumber(() => held.get('canceled')?.length, 2);
    await node.call('DELETE', '/v2/schedules/canceled');
    letGo('canceled');
    // The first one's call had begun: its record says that it was canceled nevertheless.
    const [trace, ...others] = await until(async () => {
      const all = await states('canceled');
      expect(all.every((state) => state.startsWith('delivered'))).toBe(true);
      return all;
    });
    expect(trace).toMatch(/^delivered: canceled at .*, but a call that had begun before was answered$/);
    expect(new Set(others)).toEqual(new Set(['delivered']));
  });

  it('goes when the one before it failed for good under "queue"', async () => {
    const headers = { 'Upstash-Retries': '0', 'Upstash-Timeout': '2s', 'Carillon-Overlap': 'queue' };
    holding.add('failing');
    await schedule(node, 'failing', '* * * * * *', { headers });
    await untilRows(node, 'failing', 2, ({ state }) => state === 'failed');
    letGo('failing');
    await node.call('DELETE', '/v2/schedules/failing');
    await until(async () => expect(await states('failing')).not.toContain('pending'));
  });

  it('does not matter to a run by hand', async () => {
    await start('by-hand', 'skip');
    expect((await node.call('POST', '/v2/schedules/by-hand/trigger')).status).toBe(200);
    await untilNumber(() => mostUnderWay.get('by-hand'), 2);
    letGo('by-hand');
    await node.call('DELETE', '/v2/schedules/by-hand');
    await metronome.ticks(1);
  });
});
