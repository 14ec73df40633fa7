// The data Redis behind a Sentinel: its primary dies or freezes, the replica takes its place, and nothing is lost. Nobody killed the node, so nothing
// may arrive twice.

import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { identify, signal, untilGone } from '../../cluster/system/processes.js';
import { crashScenario, type CrashScenario, report } from '../kit/crash-scenario.js';
import { startSentinelTrio, type SentinelTrio } from '../kit/sentinel.js';

vi.setConfig({ testTimeout: 180_000 });

const SCHEDULES = 10;

let dir: string;
let trio: SentinelTrio;
let scenario: CrashScenario;
beforeEach(async () => {
  dir = path.join(inject('runDir'), `sentinel-${randomBytes(6).toString('hex')}`);
  mkdirSync(dir, { mode: 0o711 });
  trio = await startSentinelTrio(dir);
  scenario = await crashScenario({
    CARILLON_REDIS_URL: trio.url,
    CARILLON_REDIS_TIMEOUT_MS: 1_000,
    CARILLON_VISIBILITY_MS: 3_000,
    CARILLON_TOUCH_MS: 1_000,
  });
});
afterEach(async () => {
  await scenario.stop();
  await trio.stop();
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

const WAYS: readonly [string, () => Promise<void>][] = [
  [
    'is killed',
    async () => {
      const primary = identify(trio.primary.pid);
      if (primary === undefined) throw new Error('the primary does not run');
      signal(primary, 'SIGKILL');
      await untilGone(primary, 5_000);
      await untilPromoted();
      await trio.primary.start();
    },
  ],
  [
    'freezes, its connections open',
    async () => {
      const primary = identify(trio.primary.pid);
      if (primary === undefined) throw new Error('the primary does not run');
      signal(primary, 'SIGSTOP');
      await untilPromoted();
      await delay(3_000);
      signal(primary, 'SIGCONT');
    },
  ],
];

async function untilPromoted(): Promise<void> {
  const before = await trio.primaryPort();
  await vi.waitFor(async () => expect(await trio.primaryPort()).not.toBe(before), { timeout: 30_000, interval: 25 });
}

describe.each(WAYS)('when the primary that Sentinels watch %s', (name, interrupt) => {
  it('deliveries go on from its replica: nothing is lost, nothing arrives twice', async () => {
    await scenario.everySecond(SCHEDULES, 'tick', '/tick?hold=100');
    const trickle = scenario.trickle(['/now', '/held?hold=700', '/later 2s', '/failing?status=500&fails=1'], 20);
    await delay(2_500);
    const startedAtMs = Date.now();
    await interrupt();
    const awayMs = Date.now() - startedAtMs;
    await trio.untilReplicated();
    await delay(1_500);
    await trickle.stop();
    await scenario.stopSeconds();
    const settledMs = await scenario.settled({ timeoutMs: 90_000 });
    const verdict = await scenario.judge();
    report(`the primary ${name}`, { ...verdict, awayMs, settledMs, trickle: trickle.counts });
    expect(verdict.faults).toEqual([]);
    expect(verdict.secondDeliveries).toBe(0);
    expect(trickle.counts).toMatchObject({ unavailable: 0, broken: 0 });
  });
});
