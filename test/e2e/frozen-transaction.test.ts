// Issue 12, 1: a node that is frozen between two statements of a transaction. Its shards are taken over as soon as those of any other dead node,
// and the nodes that go on wait for nothing that it had locked.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report, sized } from '../kit/crash-scenario.js';
import { TEST_ADMIN_TOKEN, TEST_SHARDS } from '../kit/node.js';
import { nodeProcess, type TestNodeProcess } from '../kit/test-node-process.js';
import { freshRedis } from '../kit/stores.js';

vi.setConfig({ testTimeout: 600_000 });

const LEASE_MS = 1_500;
const BOUND_MS = LEASE_MS + 1_500;
const FREEZES = sized(2, 20);
const SCHEDULES = 100;

let scenario: CrashScenario;
let second: TestNodeProcess;
beforeAll(async () => {
  const redis = freshRedis();
  const settings = {
    CARILLON_REDIS_URL: redis.url,
    CARILLON_REDIS_PREFIX: redis.prefix.replace(/:$/, ''),
    CARILLON_LEASE_MS: LEASE_MS,
    CARILLON_HEARTBEAT_MS: 200,
    CARILLON_JOIN_GRACE_MS: 300,
    CARILLON_VISIBILITY_MS: 2 * LEASE_MS,
    CARILLON_TOUCH_MS: 500,
  };
  scenario = await crashScenario({ ...settings, CARILLON_NODE_NAME: 'first' });
  second = await nodeProcess({
    ...settings,
    CARILLON_NODE_NAME: 'second',
    CARILLON_DATABASE_URL: scenario.databaseUrl,
  });
  await second.start();
}, 120_000);
afterAll(async () => {
  await second.stop();
  await scenario.stop();
});

/** How many shards each node owns, as the second one sees it. */
async function counts(): Promise<Record<string, number>> {
  const response = await second.call('GET', '/admin/shards', {
    headers: { authorization: `Bearer ${TEST_ADMIN_TOKEN}` },
  });
  const { shards } = (await response.json()) as { shards: { node: string | null }[] };
  const found: Record<string, number> = {};
  for (const { node } of shards) found[node ?? 'nobody'] = (found[node ?? 'nobody'] ?? 0) + 1;
  return found;
}

/** The first node's connections on which a transaction stands still, each with the time when that began. */
async function open(): Promise<string[]> {
  const rows = await scenario.query<{ mark: string }>(
    `select pid || ' ' || state_change as mark from pg_stat_activity
      where application_name like 'carillon first-%' and datname = current_database() and state = 'idle in transaction'`,
  );
  return rows.map(({ mark }) => mark);
}

/** Freezes the first node between two statements of a transaction. */
async function freezeWithinTransaction(): Promise<void> {
  for (;;) {
    if ((await open()).length === 0) continue;
    scenario.node.freeze();
    const marks = await open();
    // What it had sent already is carried out.
    await scenario.query('select pg_sleep(0.05)');
    const still = await open();
    if (marks.some((mark) => still.includes(mark))) return;
    scenario.node.thaw();
  }
}

it(`the shards of a node frozen within a transaction are taken over within the lease and 1.5 s`, async () => {
  await scenario.everySecond(SCHEDULES, 'tick', '/tick', { 'Upstash-Retries': '0' });
  const takeoverMs: number[] = [];
  for (let freeze = 0; freeze < FREEZES; freeze++) {
    await expect
      .poll(counts, { timeout: 30_000, interval: 50 })
      .toEqual({ first: TEST_SHARDS / 2, second: TEST_SHARDS / 2 });
    await freezeWithinTransaction();
    const frozenAtMs = performance.now();
    await expect.poll(counts, { timeout: 30_000, interval: 20 }).toEqual({ second: TEST_SHARDS });
    takeoverMs.push(Math.round(performance.now() - frozenAtMs));
    scenario.node.thaw();
  }
  report('frozen within a transaction', { takeoverMs });
  expect(Math.max(...takeoverMs)).toBeLessThan(BOUND_MS);
  // Nobody else took PostgreSQL for unavailable meanwhile.
  expect(second.log.filter(({ level }) => level >= 50)).toEqual([]);
  await scenario.stopSeconds();
  await scenario.settled();
  const verdict = await scenario.judge();
  expect(verdict.faults).toEqual([]);
});
