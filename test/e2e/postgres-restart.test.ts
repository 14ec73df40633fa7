// PostgreSQL goes away in the middle: accepts say so, claims stop, what is in flight is held and recorded when it is back. Nobody killed
// the node, so nothing may arrive twice.

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report, roomFor, sized } from '../kit/crash-scenario.js';
import { ownPostgres, type OwnStore } from '../kit/stores.js';

const SCHEDULES = sized(30, 500);
const HELD = sized(300, 2_000);
const LATE_MS = 25_000;

vi.setConfig({ testTimeout: 180_000 });

let postgres: OwnStore;
let scenario: CrashScenario;
beforeEach(async () => {
  postgres = await ownPostgres();
  scenario = await crashScenario({
    CARILLON_DATABASE_URL: postgres.url,
    CARILLON_DATABASE_TIMEOUT_MS: 2_000,
    ...roomFor(2 * HELD),
    CARILLON_VISIBILITY_MS: 3_000,
    CARILLON_TOUCH_MS: 1_000,
  });
});
afterEach(async () => {
  await scenario.stop();
  await postgres.stop();
});

const WAYS: readonly [string, () => Promise<void>][] = [
  ['is restarted', () => postgres.restart()],
  [
    'crashes',
    async () => {
      await postgres.kill9();
      await delay(1_000);
      await postgres.restart();
    },
  ],
  [
    'freezes for longer than the visibility',
    async () => {
      postgres.pause();
      await delay(6_000);
      postgres.resume();
    },
  ],
];

describe.each(WAYS)('when PostgreSQL %s', (name, interrupt) => {
  it('nothing is lost and nothing arrives twice', async () => {
    const { receiver, node } = scenario;
    await scenario.everySecond(SCHEDULES, 'tick', '/tick?hold=100');
    const trickle = scenario.trickle(['/now', '/held?hold=700', '/later 2s', '/failing?status=500&fails=1'], 20);
    await receiver.closeGate('held');
    await scenario.publish(HELD, '/gated?gate=held');
    await receiver.waitForOpen(HELD, '/gated');
    await delay(2_500);
    const startedAtMs = Date.now();
    const interruption = interrupt();
    await delay(200);
    // Answered while PostgreSQL is unavailable: outcomes are kept in memory.
    await receiver.closeGate('');
    await interruption;
    const awayMs = Date.now() - startedAtMs;
    await node.untilReady();
    await delay(2_500);
    await trickle.stop();
    await scenario.stopSeconds();
    const settledMs = await scenario.settled({ timeoutMs: 90_000 });
    const verdict = await scenario.judge();
    report(`PostgreSQL ${name}`, { ...verdict, awayMs, settledMs, trickle: trickle.counts });
    expect(verdict.faults).toEqual([]);
    expect(verdict.secondDeliveries).toBe(0);
    expect(trickle.counts.broken).toBe(0);
    // A restart may be over between two requests.
    if (awayMs > 2_000) expect(trickle.counts.unavailable).toBeGreaterThan(0);
    // What was committed without the answer being heard does not wait for the next minute's sweep.
    expect(verdict.lateMs.max).toBeLessThan(awayMs + LATE_MS);
  });
});
