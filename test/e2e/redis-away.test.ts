// Redis restarts, crashes, is away or full: accepts keep committing to PostgreSQL, and what was accepted is delivered when Redis takes it.
// Nobody killed the node, so nothing may arrive twice.

import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report, roomFor, sized } from '../kit/crash-scenario.js';
import { ownRedis, type OwnStore } from '../kit/stores.js';

const SCHEDULES = sized(30, 500);
const HELD = sized(300, 2_000);
const LATE_MS = 25_000;

vi.setConfig({ testTimeout: 180_000 });

let redis: OwnStore;
let scenario: CrashScenario;
beforeEach(async () => {
  redis = await ownRedis();
  scenario = await crashScenario({
    CARILLON_REDIS_URL: redis.url,
    CARILLON_REDIS_TIMEOUT_MS: 2_000,
    ...roomFor(2 * HELD),
    CARILLON_VISIBILITY_MS: 3_000,
    CARILLON_TOUCH_MS: 1_000,
  });
});
afterEach(async () => {
  await scenario.stop();
  await redis.stop();
});

const WAYS: readonly [string, () => Promise<void>][] = [
  ['is restarted', () => redis.restart()],
  [
    'crashes, with the last second of its file lost, and stays away a while',
    async () => {
      await redis.kill9();
      await delay(3_000);
      await redis.restart();
    },
  ],
  [
    'freezes for longer than the visibility',
    async () => {
      redis.pause();
      await delay(6_000);
      redis.resume();
    },
  ],
];

describe.each(WAYS)('when Redis %s', (name, interrupt) => {
  it('accepts go on, nothing is lost and nothing arrives twice', async () => {
    const { receiver } = scenario;
    await scenario.everySecond(SCHEDULES, 'tick', '/tick?hold=100');
    const trickle = scenario.trickle(['/now', '/held?hold=700', '/later 2s', '/failing?status=500&fails=1'], 20);
    await receiver.closeGate('held');
    await scenario.publish(HELD, '/gated?gate=held');
    await receiver.waitForOpen(HELD, '/gated');
    await delay(2_500);
    const startedAtMs = Date.now();
    const interruption = interrupt();
    await delay(200);
    // Answered while Redis is unavailable: the outcomes are recorded, and Redis does not know.
    await receiver.closeGate('');
    await interruption;
    const awayMs = Date.now() - startedAtMs;
    await delay(2_500);
    await trickle.stop();
    await scenario.stopSeconds();
    const settledMs = await scenario.settled({ timeoutMs: 90_000 });
    const verdict = await scenario.judge();
    report(`Redis ${name}`, { ...verdict, awayMs, settledMs, trickle: trickle.counts });
    expect(verdict.faults).toEqual([]);
    expect(verdict.secondDeliveries).toBe(0);
    expect(trickle.counts).toMatchObject({ unavailable: 0, broken: 0 });
    expect(verdict.lateMs.max).toBeLessThan(awayMs + LATE_MS);
  });
});

describe('when Redis is full', () => {
  it('accepts keep committing to PostgreSQL, and all is delivered when there is room again', async () => {
    const client = new Redis(redis.url);
    await scenario.everySecond(5, 'tick', '/tick');
    await delay(1_500);
    await client.config('SET', 'maxmemory', '1');
    const ids = await scenario.publish(200, '/full');
    await scenario.publish(50, '/full', { 'Upstash-Delay': '1s' });
    await scenario.everySecond(5, 'late', '/tick');
    await delay(3_000);
    const deliveredWhenFull = (await scenario.receiver.calls()).filter((call) => call.path === '/full').length;
    const atMs = Date.now();
    await client.config('SET', 'maxmemory', '0');
    client.disconnect();
    await scenario.settled();
    const backMs = Date.now() - atMs;
    await scenario.stopSeconds();
    await scenario.settled();
    const verdict = await scenario.judge();
    report('Redis full', { ...verdict, backMs, deliveredWhenFull, accepted: ids.length });
    expect(verdict.faults).toEqual([]);
    expect(verdict.secondDeliveries).toBe(0);
    expect(verdict.lateMs.max).toBeLessThan(3_000 + LATE_MS);
  });

  it("knows nothing of work beyond the next day's", async () => {
    const client = new Redis(redis.url);
    await scenario.publish(10, '/far', { 'Upstash-Delay': '30d' });
    const before = await usedBytes(client);
    await scenario.publish(2_000, '/far', { 'Upstash-Delay': '30d' });
    const after = await usedBytes(client);
    client.disconnect();
    report('Redis memory for 2,000 messages due in a month', { bytes: after - before });
    expect(after - before).toBeLessThan(50 * 1_024);
  });
});

async function usedBytes(client: Redis): Promise<number> {
  const keys = await client.keys('*');
  const sizes = await Promise.all(keys.map((key) => client.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}
