// What must hold for single pieces of work when the node dies at the worst moment.

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report } from '../kit/crash-scenario.js';
import { ownRedis } from '../kit/stores.js';

vi.setConfig({ testTimeout: 120_000 });

const VISIBILITY_MS = 2_000;
const QUICK = { CARILLON_VISIBILITY_MS: VISIBILITY_MS, CARILLON_TOUCH_MS: 500 };
/** Of a node that finds what another one accepted and did not queue. */
const FOUND_WITHIN_MS = 20_000;

let scenario: CrashScenario;
afterEach(() => scenario.stop());

it('delivers what a node accepted and died before queueing', async () => {
  const redis = await ownRedis();
  try {
    scenario = await crashScenario({ CARILLON_REDIS_URL: redis.url, ...QUICK });
    const { node, receiver } = scenario;
    // With Redis away the node commits and cannot queue; then it dies with the offer in its memory.
    await redis.kill9();
    const id = await scenario.tryPublish('/committed', { 'Carillon-Idempotency-Key': 'once' });
    expect(id).not.toBeNull();
    await node.kill9();
    await redis.restart();
    await node.start();
    const readyAtMs = Date.now();
    // The key is taken: sent again it is the same message, which is not stuck behind it.
    expect(await scenario.tryPublish('/committed', { 'Carillon-Idempotency-Key': 'once' })).toBe(id);
    await scenario.settled();
    const calls = await receiver.calls();
    const verdict = await scenario.judge();
    report('died before queueing', {
      lateMs: verdict.lateMs.max,
      afterReadyMs: (calls[0]?.arrivedAtMs ?? 0) - readyAtMs,
    });
    expect(verdict.faults).toEqual([]);
    expect(calls).toHaveLength(1);
    expect((calls[0]?.arrivedAtMs ?? Infinity) - readyAtMs).toBeLessThan(FOUND_WITHIN_MS);
  } finally {
    await redis.stop();
  }
});

it('gives a hundred equal answers to a hundred equal keys, and one message', async () => {
  scenario = await crashScenario(QUICK);
  const { node, receiver } = scenario;
  const publish = () => scenario.tryPublish('/keyed', { 'Carillon-Idempotency-Key': 'invoice-2026-11' });
  const asked = Array.from({ length: 50 }, publish);
  await Promise.race(asked);
  await node.kill9();
  const first = await Promise.all(asked);
  await node.start();
  const second = await Promise.all(Array.from({ length: 100 }, publish));
  const ids = new Set([...first, ...second].filter((id) => id !== null));
  expect(ids.size).toBe(1);
  expect(second).not.toContain(null);
  await scenario.settled();
  const verdict = await scenario.judge();
  expect(verdict.faults).toEqual([]);
  expect(verdict.messages).toBe(1);
  expect((await receiver.calls()).length).toBeLessThanOrEqual(2);
});

it('sends again within two leases what was in flight when the node died', async () => {
  scenario = await crashScenario(QUICK);
  const { node, receiver } = scenario;
  await receiver.closeGate('held');
  await scenario.publish(1, '/gated?gate=held');
  await receiver.waitForOpen(1, '/gated');
  await node.kill9();
  const killedAtMs = Date.now();
  await receiver.closeGate('');
  const startMs = await node.start();
  await scenario.settled();
  const calls = await receiver.calls();
  const afterMs = (calls[1]?.arrivedAtMs ?? Infinity) - killedAtMs;
  report('active after a crash', { afterMs, startMs });
  expect(calls).toHaveLength(2);
  expect(afterMs).toBeLessThan(2 * VISIBILITY_MS + startMs);
  expect((await scenario.judge()).faults).toEqual([]);
});

it('has one pending occurrence of a schedule that fifty clients save while the node dies', async () => {
  scenario = await crashScenario(QUICK);
  const { node } = scenario;
  const save = () => scenario.everySecond(1, 'saved', '/saved').catch(() => undefined);
  const saving = Array.from({ length: 50 }, save);
  await Promise.race(saving);
  await node.kill9();
  await Promise.all(saving);
  await node.start();
  await Promise.all(Array.from({ length: 50 }, save));
  const schedules = await scenario.query('select generation, state from schedules');
  // Saved again with nothing changed: nothing was changed.
  expect(schedules).toEqual([{ generation: 1, state: 'active' }]);
  await delay(3_000);
  await scenario.stopSeconds();
  await scenario.settled();
  const verdict = await scenario.judge();
  report('saved by many', verdict);
  expect(verdict.faults).toEqual([]);
  expect(verdict.secondDeliveries).toBeLessThanOrEqual(2);
});
