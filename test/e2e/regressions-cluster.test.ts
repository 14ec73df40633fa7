// What went wrong in other schedulers when nodes came, went, died or froze while others stood by: here somebody takes over, once.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { crashScenario, type CrashScenario, report, sized } from '../kit/crash-scenario.js';
import { TEST_ADMIN_TOKEN, TEST_SHARDS } from '../kit/node.js';
import { nodeProcess, type TestNodeProcess } from '../kit/test-node-process.js';
import { freshRedis } from '../kit/stores.js';

vi.setConfig({ testTimeout: 180_000 });

const LEASE_MS = 1_500;
const KILLS = sized(2, 30);
const COMINGS_MS = sized(8_000, 600_000);
const until = { timeout: 30_000, interval: 50 };

let scenario: CrashScenario;
let second: TestNodeProcess;
let nodes: TestNodeProcess[];
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
    CARILLON_IDLE_CLAIM_MS: 1_000,
  };
  scenario = await crashScenario({ ...settings, CARILLON_NODE_NAME: 'first' });
  second = await nodeProcess({
    ...settings,
    CARILLON_NODE_NAME: 'second',
    CARILLON_DATABASE_URL: scenario.databaseUrl,
  });
  nodes = [scenario.node, second];
  await second.start();
}, 120_000);
beforeEach(async () => {
  if (second.lives.at(-1)?.endedAtMs !== null) await second.start();
  await shared();
}, 60_000);
afterAll(async () => {
  await second.stop();
  await scenario.stop();
});

/** Names of the nodes that own shards, one for each shard, as a node that answers sees it. */
async function owners(): Promise<(string | null)[]> {
  for (const node of nodes) {
    const response = await node
      .call('GET', '/admin/shards', { headers: { authorization: `Bearer ${TEST_ADMIN_TOKEN}` }, timeoutMs: 1_000 })
      .catch(() => null);
    if (response?.status !== 200) continue;
    const { shards } = (await response.json()) as { shards: { node: string | null }[] };
    return shards.map(({ node: name }) => name);
  }
  return [];
}

const counts = async (): Promise<Record<string, number>> => {
  const found: Record<string, number> = {};
  for (const owner of await owners()) found[owner ?? 'nobody'] = (found[owner ?? 'nobody'] ?? 0) + 1;
  return found;
};
const shared = (): Promise<void> =>
  expect.poll(counts, until).toEqual({ first: TEST_SHARDS / 2, second: TEST_SHARDS / 2 });

async function ownerOf(scheduleId: string): Promise<TestNodeProcess> {
  const [row] = await scenario.query<{ shard: number }>('select shard from schedules where id = $1', [scheduleId]);
  return (await owners())[row?.shard ?? -1] === 'first' ? scenario.node : second;
}

interface Occurrence {
  readonly at: number;
  readonly rows: number;
  readonly state: string;
}

/** The occurrences of a schedule in order, with how many rows each has. */
function occurrences(scheduleId: string): Promise<Occurrence[]> {
  return scenario.query<Occurrence>(
    `select extract(epoch from occurrence_at)::integer as at, count(*)::integer as rows, min(state) as state
       from messages where schedule_id = $1 and kind = 'occurrence' group by occurrence_at order by occurrence_at`,
    [scheduleId],
  );
}

async function everyTwoSeconds(id: string): Promise<void> {
  const response = await scenario.node.call('POST', `/v2/schedules/${scenario.receiver.url}/tick-${id}`, {
    headers: { 'Upstash-Cron': '*/2 * * * * *', 'Upstash-Schedule-Id': id },
  });
  expect(response.status).toBeLessThan(300);
}

function expectEverySlotOnce(found: readonly Occurrence[]): void {
  const gaps = found.slice(1).map(({ at }, index) => at - (found[index]?.at ?? 0));
  expect(new Set(gaps)).toEqual(new Set([2]));
  expect(found.every(({ rows }) => rows === 1)).toBe(true);
}

describe('a slot', () => {
  it('has its one row although its owner is killed one second after each (report 8)', async () => {
    await everyTwoSeconds('slots');
    const takeoverMs: number[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      await delay(3_000 - (Date.now() % 2_000));
      const owner = await ownerOf('slots');
      await owner.kill9();
      const killedAtMs = Date.now();
      const survivor = owner === second ? 'first' : 'second';
      await expect.poll(counts, until).toEqual({ [survivor]: TEST_SHARDS });
      takeoverMs.push(Date.now() - killedAtMs);
      await owner.start();
      await shared();
    }
    await expect.poll(async () => (await occurrences('slots')).at(-1)?.state, until).toBe('delivered');
    const found = await occurrences('slots');
    report('killed after each slot', { kills: KILLS, slots: found.length, takeoverMs });
    expectEverySlotOnce(found);
    await expect
      .poll(
        async () => (await occurrences('slots')).slice(0, found.length).every(({ state }) => state === 'delivered'),
        until,
      )
      .toBe(true);
  });

  it('is not missed and not doubled while a node comes and goes (report 23)', async () => {
    await everyTwoSeconds('coming');
    const endAtMs = Date.now() + COMINGS_MS;
    let comings = 0;
    while (Date.now() < endAtMs) {
      await delay(1_000);
      expect((await second.stopInOrder()).code).toBe(0);
      await second.start();
      await shared();
      comings += 1;
    }
    await expect.poll(async () => (await occurrences('coming')).at(-1)?.state, until).toBe('delivered');
    const found = await occurrences('coming');
    expectEverySlotOnce(found);
    const ticks = (await scenario.receiver.calls()).filter(({ path }) => path.startsWith('/tick-coming'));
    report('comes and goes', { comings, slots: found.length, calls: ticks.length });
    expect(new Set(ticks.map(({ messageId }) => messageId)).size).toBe(ticks.length);
  });
});

describe('an upsert', () => {
  it('made fifty times at once, while a node is killed, leaves one schedule and one occurrence a slot (report 16)', async () => {
    const upsert = (index: number): Promise<unknown> =>
      (nodes[index % 2] ?? second)
        .call('POST', `/v2/schedules/${scenario.receiver.url}/tick-same`, {
          headers: { 'Upstash-Cron': '*/2 * * * * *', 'Upstash-Schedule-Id': 'same' },
        })
        .catch(() => undefined);
    const upserts = Promise.all(Array.from({ length: 50 }, (_, index) => upsert(index)));
    await second.kill9();
    await upserts;
    await upsert(0);
    const rows = await scenario.query(`select id from schedules where id = 'same'`);
    expect(rows).toHaveLength(1);
    await expect.poll(async () => (await occurrences('same')).length, until).toBeGreaterThan(2);
    expectEverySlotOnce(await occurrences('same'));
  });
});

describe('what a killed node had in flight', () => {
  it('is sent again within two leases, and ends (report 20)', async () => {
    await scenario.receiver.closeGate('held');
    const ids = await scenario.publish(40, '/gated?gate=held');
    await scenario.receiver.waitForOpen(40, '/gated');
    await second.kill9();
    const killedAtMs = Date.now();
    await scenario.receiver.closeGate('');
    await scenario.settled({ except: '%/tick%' });
    const calls = await scenario.receiver.calls();
    const again = calls.filter(({ path, arrivedAtMs }) => path.startsWith('/gated') && arrivedAtMs > killedAtMs);
    const lateMs = Math.max(0, ...again.map(({ arrivedAtMs }) => arrivedAtMs - killedAtMs));
    report('in flight on a killed node', { again: again.length, lateMs });
    expect(again.length).toBeGreaterThan(0);
    expect(again.length).toBeLessThan(ids.length);
    // A claim is good for two leases here, and the machine may be busy.
    expect(lateMs).toBeLessThan(3 * 2 * LEASE_MS);
  });
});

describe('a node that is frozen for two leases and thaws', () => {
  it('has lost its shards, does nothing by its old epochs, and takes part again (reports 10, 21, 22)', async () => {
    await everyTwoSeconds('frozen');
    const owner = await ownerOf('frozen');
    await scenario.publish(30, '/later', { 'Upstash-Delay': '2s' });
    const [lives, logged] = [owner.lives.length, owner.log.length];
    owner.freeze();
    const survivor = owner === second ? 'first' : 'second';
    await expect.poll(counts, until).toEqual({ [survivor]: TEST_SHARDS });
    await delay(2 * LEASE_MS);
    owner.thaw();
    await shared();
    await scenario.settled({ except: '%/tick%' });
    const rows = await scenario.query<{ state: string }>(
      `select distinct state from messages where destination like '%/later'`,
    );
    expect(rows).toEqual([{ state: 'delivered' }]);
    expectEverySlotOnce(await occurrences('frozen'));
    // It ended nothing twice, it did not crash, and it said why it let its shards go.
    expect(owner.lives).toHaveLength(lives);
    const said = owner.log.slice(logged);
    expect(said.filter(({ level }) => level >= 50)).toEqual([]);
    expect(said.some(({ msg }) => msg === 'leases expired' || msg.startsWith('shard is fenced'))).toBe(true);
  });
});
