// kill -9 of the node, again and again, with thousands of calls in its hands: nothing is lost, nothing has two rows, and only what was in
// flight at a kill arrives twice.

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { crashScenario, type CrashScenario, report, roomFor, sized } from '../kit/crash-scenario.js';

const KILLS = 10;
/** In flight at each kill, beside what the schedules have. */
const MESSAGES = sized(500, 2_000);
const SCHEDULES = sized(100, 500);
/** Messages sent one by one all the time, some of them just when the node dies. */
const TRICKLE_EVERY_MS = 50;

let scenario: CrashScenario;
afterEach(() => scenario.stop());

it(
  `loses and doubles nothing over ${KILLS} kills with ${MESSAGES} messages in flight and ${SCHEDULES} every-second schedules`,
  async () => {
    scenario = await crashScenario({
      ...roomFor(2 * MESSAGES),
      CARILLON_VISIBILITY_MS: 3_000,
      CARILLON_TOUCH_MS: 1_000,
      CARILLON_RESCUE_EVERY_MS: 2_000,
    });
    const { node, receiver } = scenario;
    await scenario.everySecond(SCHEDULES, 'tick', '/tick?hold=200');
    const trickle = scenario.trickle(['/trickle'], TRICKLE_EVERY_MS);
    const readyMs: number[] = [];
    const random = seeded();
    for (let kill = 1; kill <= KILLS; kill++) {
      const path = `/gated?gate=${kill}`;
      await receiver.closeGate(String(kill));
      // They are held until the kill, however long a busy machine needs to have them all in flight.
      await scenario.publish(MESSAGES, path, { 'Upstash-Timeout': '600s' });
      await receiver.waitForOpen(MESSAGES, path, sized(60_000, 400_000));
      await delay(300 * random());
      await node.kill9();
      readyMs.push(Math.round(await node.start()));
    }
    await receiver.closeGate('');
    await trickle.stop();
    await scenario.stopSeconds();
    const drainedMs = await scenario.settled({ timeoutMs: sized(60_000, 400_000) });
    const verdict = await scenario.judge();
    report('kill', { ...verdict, readyMs, drainedMs: Math.round(drainedMs), trickle: trickle.counts });
    expect(verdict.faults).toEqual([]);
    // Every gated message was in flight at its kill, so each was sent again.
    expect(verdict.secondDeliveries).toBeGreaterThanOrEqual(KILLS * MESSAGES);
    expect(node.log.filter(({ level }) => level >= 50)).toEqual([]);
  },
  sized(400_000, 1_800_000),
);

/** A fixed sequence of numbers from 0 to 1, printed so that a failure can be repeated. */
function seeded(): () => number {
  let state = Number(process.env.CARILLON_TEST_SEED ?? Date.now() % 100_000);
  report('kill', { CARILLON_TEST_SEED: state });
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
