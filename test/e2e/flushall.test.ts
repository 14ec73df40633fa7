// FLUSHALL in the middle: Redis is rebuilt from PostgreSQL, soonest first. Nobody was killed, so nothing may arrive twice.

import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report, roomFor, sized } from '../kit/crash-scenario.js';
import { ownRedis, type OwnStore } from '../kit/stores.js';

const FLUSHES = 3;
const SCHEDULES = sized(40, 500);
const HELD = sized(300, 2_000);
const WAITING = sized(500, 5_000);

vi.setConfig({ testTimeout: 180_000 });

let redis: OwnStore;
let scenario: CrashScenario;
beforeEach(async () => {
  redis = await ownRedis();
});
afterEach(async () => {
  await scenario.stop();
  await redis.stop();
});

it('loses and doubles nothing when Redis is emptied, and is on time again within seconds', async () => {
  // The sweeps keep their usual periods: an emptied queue must not wait for them.
  scenario = await crashScenario({
    CARILLON_REDIS_URL: redis.url,
    ...roomFor(2 * HELD),
  });
  const { receiver, node } = scenario;
  await scenario.everySecond(SCHEDULES, 'tick', '/tick?hold=100');
  await scenario.publish(WAITING, '/waiting', { 'Upstash-Delay': '8s' });
  const trickle = scenario.trickle(['/now', '/held?hold=1500', '/later 3s', '/tomorrow 20h'], 20);
  const client = new Redis(redis.url);
  const flushedAtMs: number[] = [];
  for (let flush = 1; flush <= FLUSHES; flush++) {
    const path = `/gated?gate=${flush}`;
    await receiver.closeGate(String(flush));
    await scenario.publish(HELD, path);
    await receiver.waitForOpen(HELD, path);
    flushedAtMs.push(Date.now());
    await client.flushall();
    await delay(1_500);
  }
  await receiver.closeGate('');
  await trickle.stop();
  await scenario.stopSeconds();
  await scenario.settled({ except: '%/tomorrow' });
  const tomorrow = await scenario.query<{ queued: number; waiting: number }>(
    `select count(*)::integer as waiting from messages where state = 'pending'`,
  );
  // What is due tomorrow is back in Redis as well, at the latest when an actor with nothing to do looks again.
  await expect.poll(() => entriesDue(client), { timeout: 15_000 }).toBe(tomorrow[0]?.waiting);
  client.disconnect();
  const verdict = await scenario.judge({ states: ['delivered', 'pending'] });
  const calls = await receiver.calls();
  const backMs = flushedAtMs.map(
    (atMs) =>
      Math.min(
        ...calls.filter((call) => call.scheduleId !== null && call.arrivedAtMs > atMs).map((c) => c.arrivedAtMs),
      ) - atMs,
  );
  report('flushall', { ...verdict, backMs, trickle: trickle.counts });
  expect(verdict.faults).toEqual([]);
  expect(verdict.secondDeliveries).toBe(0);
  expect(trickle.counts).toMatchObject({ unavailable: 0, broken: 0 });
  expect(node.log.filter(({ level }) => level >= 50)).toEqual([]);
});

async function entriesDue(client: Redis): Promise<number> {
  const keys = await client.keys('*:due');
  const counts = await Promise.all(keys.map((key) => client.zcount(key, '-inf', '+inf')));
  return counts.reduce((sum, count) => sum + count, 0);
}
