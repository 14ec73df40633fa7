// A process that stands still for longer than its claims are good for, and goes on as if nothing had been: one terminal row each, nothing
// twice, no crash; what was due meanwhile follows the misfire policy, as after any other absence.

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report, roomFor, sized } from '../kit/crash-scenario.js';

vi.setConfig({ testTimeout: 120_000 });

const HELD = sized(300, 2_000);
const VISIBILITY_MS = 2_000;
const FROZEN_MS = 2.5 * VISIBILITY_MS;
const GRACE_MS = 2_000;

let scenario: CrashScenario;
afterEach(() => scenario.stop());

async function startScenario(): Promise<CrashScenario> {
  return crashScenario({
    ...roomFor(2 * HELD),
    CARILLON_VISIBILITY_MS: VISIBILITY_MS,
    CARILLON_TOUCH_MS: 500,
    CARILLON_MISFIRE_GRACE_MS: GRACE_MS,
  });
}

it('ends each delivery once after it was frozen for longer than its claims are good for', async () => {
  scenario = await startScenario();
  const { node, receiver } = scenario;
  await scenario.publish(100, '/meanwhile', { 'Upstash-Delay': '3s' });
  const answered = '/gated?gate=first';
  await receiver.closeGate('first');
  await scenario.publish(HELD, answered);
  await receiver.waitForOpen(HELD, answered);
  node.freeze();
  // Half of the answers come while it is frozen, half after it goes on.
  await delay(FROZEN_MS / 2);
  await receiver.closeGate('');
  await delay(FROZEN_MS / 2);
  node.thaw();
  await scenario.settled();
  const verdict = await scenario.judge();
  report('frozen', verdict);
  expect(verdict.faults).toEqual([]);
  expect(verdict.secondDeliveries).toBe(0);
  expect(node.lives).toHaveLength(1);
  expect(node.log.filter(({ level }) => level >= 50)).toEqual([]);
  expect(await attemptsOf(scenario)).toEqual([{ state: 'delivered', attempts: 1 }]);
});

/** What came of the seconds in which nobody could fire, by the schedule's policy. */
async function missedSeconds(of: CrashScenario, absence: () => Promise<void>) {
  const policies = ['skip', 'once', 'all'];
  for (const policy of policies) await of.everySecond(1, policy, '/tick', { 'Carillon-Misfire': policy });
  await delay(1_500);
  await absence();
  await delay(1_500);
  await of.stopSeconds();
  await of.settled();
  const rows = await of.query<{ schedule: string; delivered: number; skipped: number; reasons: string[] | null }>(
    `select schedule_id as schedule, count(*) filter (where state = 'delivered')::integer as delivered,
       count(*) filter (where state = 'skipped')::integer as skipped, array_agg(distinct reason) filter (where reason is not null) as reasons
     from messages where kind = 'occurrence' group by 1`,
  );
  const verdict = await of.judge({ states: ['delivered', 'skipped'] });
  report('absence', { ...verdict, rows });
  expect(verdict.faults).toEqual([]);
  expect(verdict.secondDeliveries).toBe(0);
  const [skip, once, all] = policies.map((policy) => rows.find(({ schedule }) => schedule === `${policy}-0`));
  expect(skip?.skipped).toBeGreaterThan(0);
  expect(skip?.reasons).toEqual(['misfire']);
  // One of those that the first policy skips is run late; the seconds of the three may differ by one at either end.
  expect(Math.abs((once?.skipped ?? 0) - (skip?.skipped ?? 0) + 1)).toBeLessThanOrEqual(1);
  expect(all?.skipped).toBe(0);
}

it('follows the misfire policy when it thaws, and does not replay each tick', async () => {
  scenario = await startScenario();
  await missedSeconds(scenario, async () => {
    scenario.node.freeze();
    await delay(FROZEN_MS + GRACE_MS);
    scenario.node.thaw();
  });
  expect(scenario.node.log.filter(({ level }) => level >= 50)).toEqual([]);
});

it('follows the misfire policy when no node was there, by rows with a reason', async () => {
  scenario = await startScenario();
  await missedSeconds(scenario, async () => {
    await scenario.node.sigterm();
    await delay(FROZEN_MS + GRACE_MS);
    await scenario.node.start();
  });
});

async function attemptsOf(of: CrashScenario): Promise<object[]> {
  return of.query('select distinct state, attempts from messages');
}
