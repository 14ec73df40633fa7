// Facts about where work for a host at its limit goes: one after the other, as fast as the host lets calls end.
import { expect, it } from 'vitest';
import { Deferrals } from '../../../src/actor/deferral.js';

const host = { running: () => 10, quiet: 0, quietMs: () => host.quiet };

/** How far ahead the last of so many deferred entries is put. */
function spreadMs(deferrals: Deferrals, entries: number): number {
  let lastMs = 0;
  for (let index = 0; index < entries; index++) lastMs = deferrals.backAtMs('a', 0);
  return lastMs;
}

it('entries come back one after the other, at the pace of the calls that ended', () => {
  host.quiet = 0;
  const deferrals = new Deferrals(host);
  expect(deferrals.backAtMs('a', 0)).toBe(50);
  expect(deferrals.backAtMs('a', 0)).toBe(60);
  for (let call = 0; call < 100; call++) deferrals.observe('a', 1_000);
  expect(deferrals.backAtMs('a', 0)).toBe(70);
  expect(deferrals.backAtMs('a', 0)).toBe(170);
});

it('a host that lets no call end is given as long as it has been silent', () => {
  host.quiet = 0;
  expect(spreadMs(new Deferrals(host), 50)).toBe(540);
  host.quiet = 2_000;
  expect(spreadMs(new Deferrals(host), 50)).toBe(50 + 49 * 200);
});

it('nothing is put off by more than half a minute, and what is far back in line comes back evenly spread', () => {
  host.quiet = 60_000;
  const deferrals = new Deferrals(host);
  const times = Array.from({ length: 1_000 }, () => deferrals.backAtMs('a', 0)).slice(10);
  expect(Math.max(...times)).toBeLessThanOrEqual(30_000);
  for (let fromMs = 15_000; fromMs < 30_000; fromMs += 1_000) {
    const within = times.filter((atMs) => atMs > fromMs && atMs <= fromMs + 1_000);
    expect(within.length).toBeGreaterThan(50);
    expect(within.length).toBeLessThan(80);
  }
});

it('what came while calls were slow comes back in half the time that they took then', () => {
  const deferrals = new Deferrals({ running: () => 100, quietMs: () => 0 });
  deferrals.backAtMs('a', 0);
  for (let call = 0; call < 100; call++) deferrals.observe('a', 300);
  // A backlog that would take 24 seconds is claimed within one.
  const backAtMs = Array.from({ length: 8_000 }, (_, index) => deferrals.backAtMs('a', index / 8));
  expect(Math.max(...backAtMs)).toBeGreaterThan(6_000);
  expect(Math.max(...backAtMs)).toBeLessThan(1_000 + 12_000);
});
