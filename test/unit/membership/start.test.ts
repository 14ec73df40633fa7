// What a node's membership does before it was started: nothing (issue 13, entry 4).

import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Membership } from '../../../src/membership/membership.js';

it('a nudge before the start begins no heartbeat, and the start does', async () => {
  const timers: (() => void)[] = [];
  let beats = 0;
  const membership = new Membership({
    locks: {
      troubleMs: 0,
      locked: () => [],
      acquire: () => Promise.resolve([]),
      extend: () => Promise.resolve([]),
      release: () => Promise.resolve(),
      probe: () => Promise.resolve(),
    },
    roster: {
      heartbeat: () => {
        beats += 1;
        return Promise.resolve({ members: [], owners: [], deaths: new Map<string, number>() });
      },
      setOwner: () => Promise.resolve(),
      clearOwner: () => Promise.resolve(),
      leave: () => Promise.resolve(),
    },
    holder: {
      owned: () => [],
      stuckFor: () => [],
      acquire: () => Promise.resolve([]),
      handOver: () => Promise.resolve(),
      drop: () => undefined,
      stop: () => Promise.resolve(),
    },
    channels: { announceFree: () => Promise.resolve() },
    time: {
      monotonicMs: () => 0,
      after: (_delayMs, call) => {
        timers.push(call);
        return () => undefined;
      },
    },
    isPostgresAvailable: () => true,
    isRedisAvailable: () => true,
    probePostgres: () => Promise.resolve(),
    settings: { id: 'a-1', name: 'a', leaseMs: 5_000, heartbeatMs: 1_000, joinGraceMs: 6_000, handoversMax: 32 },
    events: { onHandedOver: () => undefined, onAcquired: () => undefined, onExpired: () => undefined },
    log: pino({ level: 'silent' }),
  });
  membership.nudge();
  expect(timers).toHaveLength(0);
  const started = membership.start();
  for (const ring of timers.splice(0)) ring();
  await started;
  expect(beats).toBeGreaterThan(0);
  await membership.stop();
});
