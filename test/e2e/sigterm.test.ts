// SIGTERM: the node ends within its drain limit, whatever goes on, and a start after it finds everything: nothing lost, nothing twice.

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report, sized } from '../kit/crash-scenario.js';
import { ownPostgres, ownRedis } from '../kit/stores.js';

vi.setConfig({ testTimeout: 120_000 });

const SCHEDULES = sized(30, 500);
const STOPS = 3;
const DRAIN_MS = 3_000;
/** Beyond the drain limit: the last answers, and the process itself on a busy machine. */
const MARGIN_MS = 5_000;

let scenario: CrashScenario;
afterEach(() => scenario.stop());

describe('a node that is asked to stop', () => {
  it('under load hands over without losing or doubling anything', async () => {
    scenario = await crashScenario({ CARILLON_DRAIN_MS: 20_000 });
    const { node } = scenario;
    await scenario.everySecond(SCHEDULES, 'tick', '/tick?hold=300');
    const trickle = scenario.trickle(['/now', '/held?hold=800', '/later 2s', '/failing?status=500&fails=2'], 10);
    const stopMs: number[] = [];
    for (let stop = 1; stop <= STOPS; stop++) {
      await scenario.publish(300, '/batch?hold=200');
      await delay(700);
      const { code, durationMs } = await node.stopInOrder();
      expect(code).toBe(0);
      stopMs.push(Math.round(durationMs));
      await node.start();
    }
    await trickle.stop();
    await scenario.stopSeconds();
    await scenario.settled();
    const verdict = await scenario.judge();
    report('SIGTERM under load', { ...verdict, stopMs, trickle: trickle.counts });
    expect(verdict.faults).toEqual([]);
    expect(verdict.secondDeliveries).toBe(0);
    expect(node.log.filter(({ level }) => level >= 50)).toEqual([]);
  });

  it('ends within the drain limit while retries keep coming', async () => {
    scenario = await crashScenario({ CARILLON_DRAIN_MS: DRAIN_MS });
    const { node } = scenario;
    const again = { 'Upstash-Retries': '100', 'Upstash-Retry-Delay': '50' };
    await scenario.publish(200, '/failing?status=503', again);
    await delay(1_000);
    const { code, durationMs } = await node.stopInOrder();
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(DRAIN_MS + MARGIN_MS);
    const calls = (await scenario.receiver.calls()).length;
    await delay(300);
    expect((await scenario.receiver.calls()).length).toBe(calls);
    const [row] = await scenario.query<{ pending: number }>(
      `select count(*)::integer as pending from messages where state = 'pending'`,
    );
    report('SIGTERM while retries come', { durationMs, calls, pending: row?.pending });
    expect(row?.pending).toBe(200);
    expect((await scenario.judge({ states: ['pending'] })).faults).toEqual([]);
  });

  it('cuts off what its receiver does not answer within the drain limit, and it is sent again later', async () => {
    scenario = await crashScenario({ CARILLON_DRAIN_MS: 1_000 });
    const { node, receiver } = scenario;
    await receiver.closeGate('never');
    await scenario.publish(20, '/gated?gate=never');
    await receiver.waitForOpen(20, '/gated');
    const { code, durationMs } = await node.stopInOrder();
    report('SIGTERM with a receiver that does not answer', { durationMs });
    expect(code).toBe(0);
    expect(durationMs).toBeLessThan(1_000 + MARGIN_MS);
    await receiver.closeGate('');
    const restartedAtMs = Date.now();
    await node.start();
    await scenario.settled();
    // Given back, not left to lapse.
    const again = (await receiver.calls()).slice(-20);
    expect(Math.min(...again.map((call) => call.arrivedAtMs)) - restartedAtMs).toBeLessThan(10_000);
    expect(new Set(again.map((call) => call.messageId)).size).toBe(20);
  });

  it.each(['PostgreSQL', 'Redis'])('ends within the drain limit while %s is away', async (which) => {
    const store = await (which === 'Redis' ? ownRedis() : ownPostgres());
    try {
      const urls = which === 'Redis' ? { CARILLON_REDIS_URL: store.url } : { CARILLON_DATABASE_URL: store.url };
      scenario = await crashScenario({
        ...urls,
        CARILLON_DRAIN_MS: DRAIN_MS,
        CARILLON_VISIBILITY_MS: 2_000,
        CARILLON_TOUCH_MS: 500,
      });
      const { node, receiver } = scenario;
      await receiver.closeGate('held');
      await scenario.publish(50, '/gated?gate=held');
      await receiver.waitForOpen(50, '/gated');
      await store.kill9();
      await receiver.closeGate('');
      await delay(500);
      const { durationMs, code } = await node.stopInOrder();
      report(`SIGTERM without ${which}`, { durationMs, code });
      expect(durationMs).toBeLessThan(DRAIN_MS + MARGIN_MS);
      expect(code).toBe(0);
      await store.restart();
      await node.start();
      await scenario.settled();
      const rows = await scenario.query('select distinct state from messages');
      expect(rows).toEqual([{ state: 'delivered' }]);
    } finally {
      await store.stop();
    }
  });
});
