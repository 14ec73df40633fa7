// What a node's /metrics says: that it agrees with PostgreSQL, that it is in good form, and that no series appear as work goes on.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Family, type Figures, scrape } from '../../kit/figures.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { ownPostgres } from '../../kit/stores.js';
import { publish, schedule, until, untilRows, untilState } from '../../kit/work.js';

let node: TestNode;
let atFirst: Figures;
beforeAll(async () => {
  node = await startTestNode();
  atFirst = await scrape(node);
});
afterAll(() => node.stop());

const get = (of: TestNode, token: string | null): Promise<Response> =>
  fetch(`${of.url}/metrics`, { headers: token === null ? {} : { authorization: `Bearer ${token}` } });

async function count(condition: string): Promise<number> {
  const [row] = await node.database.text<{ count: number }>(`select count(*)::int from messages where ${condition}`);
  return row?.count ?? -1;
}

/** Everything there is to count: successes, a retry, a failure, a duplicate, occurrences published and skipped. */
async function doWork(): Promise<void> {
  let refused = 0;
  node.sink.answer(({ path }) => {
    if (path === '/failing' || (path === '/flaky' && refused++ < 2)) return { status: 500 };
    return {};
  });
  const sent = await Promise.all(Array.from({ length: 20 }, (_, index) => publish(node, `/plain/${index}`)));
  const once = { headers: { 'Upstash-Deduplication-Id': 'once' } };
  sent.push(await publish(node, '/once', once));
  expect(await publish(node, '/once', once)).toBe(sent.at(-1));
  sent.push(await publish(node, '/flaky', { headers: { 'Upstash-Retry-Delay': '10' } }));
  const failing = await publish(node, '/failing', { headers: { 'Upstash-Retries': '0' } });
  await schedule(node, 'named', '* * * * * *', {
    headers: { 'Carillon-Idempotency-Key': 'the-same-all-day-{yyyy-MM-dd}' },
  });
  await untilRows(node, 'named', 2, ({ state }) => state === 'skipped');
  await node.call('DELETE', '/v2/schedules/named');
  await Promise.all(sent.map((id) => untilState(node, id, 'delivered')));
  await untilState(node, failing, 'failed');
  await until(async () => expect(await count(`state = 'pending'`)).toBe(0));
}

describe('the figures', () => {
  it('agree with PostgreSQL', async () => {
    await doWork();
    // A row is committed a moment before it is counted.
    await until(async () => {
      const now = await scrape(node);
      const deliveries = (outcome: string): number => now.value('carillon_deliveries_total', { outcome });
      expect(deliveries('delivered')).toBe(await count(`state = 'delivered'`));
      expect(deliveries('retried')).toBe(2);
      expect(deliveries('failed')).toBe(1);
      expect(deliveries('superseded')).toBe(0);
      const [{ attempts } = { attempts: -1 }] = await node.database.text<{ attempts: number }>(
        `select sum(attempts)::int attempts from messages`,
      );
      expect(now.value('carillon_delivery_duration_seconds_count')).toBe(attempts);
      expect(now.value('carillon_recorder_group_rows_sum', { kind: 'outcome' })).toBe(attempts);
      expect(now.value('carillon_delivery_lag_seconds_count')).toBe(await count('attempts > 0'));
      expect(now.value('carillon_accepts_total', { result: 'accepted' })).toBe(await count(`kind = 'message'`));
      expect(now.value('carillon_accepts_total', { result: 'deduplicated' })).toBe(1);
      expect(now.value('carillon_recorder_group_rows_sum', { kind: 'accept' })).toBe(24);
      expect(now.value('carillon_claimed_entries_total')).toBeGreaterThanOrEqual(attempts);
      const published = `kind = 'occurrence' and state <> 'skipped'`;
      expect(now.value('carillon_occurrences_published_total')).toBe(await count(published));
      const skipped = now.value('carillon_occurrences_skipped_total', { reason: 'key_held' });
      expect(skipped).toBe(await count(`state = 'skipped'`));
    });
  });

  it('have lags and durations in seconds', async () => {
    const now = await scrape(node);
    const mean = (name: string): number => now.value(`${name}_sum`) / now.value(`${name}_count`);
    expect(mean('carillon_delivery_lag_seconds')).toBeGreaterThan(0);
    expect(mean('carillon_delivery_lag_seconds')).toBeLessThan(2);
    expect(mean('carillon_delivery_duration_seconds')).toBeGreaterThan(0.000_1);
    expect(mean('carillon_delivery_duration_seconds')).toBeLessThan(2);
  });

  it('tell the levels of the moment', async () => {
    // Actors hold slots for a moment when they claim.
    const now = await until(async () => {
      const figures = await scrape(node);
      expect(figures.value('carillon_delivery_slots_free')).toBe(node.config.CARILLON_CONCURRENCY);
      return figures;
    });
    expect(now.value('carillon_in_flight')).toBe(0);
    expect(now.value('carillon_shards')).toBe(node.config.CARILLON_SHARDS);
    expect(now.value('carillon_offers_waiting')).toBe(0);
    expect(now.value('carillon_recorder_backlog', { kind: 'outcome' })).toBe(0);
    expect(now.value('carillon_store_up', { store: 'table' })).toBe(1);
    expect(now.value('carillon_store_up', { store: 'queue' })).toBe(1);
    expect(now.value('process_resident_memory_bytes')).toBeGreaterThan(20e6);
    expect(now.value('nodejs_eventloop_lag_p50_seconds')).toBeLessThan(1);
  });

  it('count requests by part of the API and class of status', async () => {
    const before = await scrape(node);
    await node.call('GET', '/v2/keys');
    await node.call('GET', '/v2/messages/msg_nothing');
    await node.call('GET', '/admin/tenants');
    await node.call('GET', '/healthz');
    await until(async () => {
      const now = await scrape(node);
      const more = (area: string, status: string): number =>
        now.value('carillon_api_requests_total', { area, status }) -
        before.value('carillon_api_requests_total', { area, status });
      expect([more('tenant', '2xx'), more('tenant', '4xx'), more('admin', '4xx')]).toEqual([1, 1, 1]);
      expect(more('node', '2xx')).toBeGreaterThanOrEqual(1);
    });
  });

  it('count sweeps', async () => {
    await until(async () => {
      const now = await scrape(node);
      for (const sweep of ['promote', 'rescue']) {
        expect(now.value('carillon_sweeps_total', { sweep, result: 'done' })).toBeGreaterThan(0);
        expect(now.value('carillon_sweep_duration_seconds_count', { sweep })).toBeGreaterThan(0);
      }
    });
  });
});

describe('the figures of two nodes', () => {
  it('tell who owns what, and what went from one to the other', async () => {
    const first = await startTestNode({ CARILLON_JOIN_GRACE_MS: 100 });
    const { CARILLON_DATABASE_URL, CARILLON_REDIS_PREFIX, CARILLON_SHARDS: shards } = first.config;
    const settings = { CARILLON_DATABASE_URL, CARILLON_REDIS_PREFIX, CARILLON_JOIN_GRACE_MS: 100 };
    const second = await startTestNode(settings);
    try {
      await until(async () => {
        const [one, other] = [await scrape(first), await scrape(second)];
        const half = shards / 2;
        expect([one.value('carillon_shards_owned'), other.value('carillon_shards_owned')]).toEqual([half, half]);
        expect(one.value('carillon_shards_taken_total')).toBe(shards);
        expect(one.value('carillon_shards_given_total')).toBe(half);
        expect(other.value('carillon_shards_taken_total')).toBe(half);
        expect(one.value('carillon_handover_duration_seconds_count')).toBeGreaterThan(0);
        expect(other.value('carillon_takeover_duration_seconds_sum')).toBeGreaterThan(0);
        expect(other.value('carillon_claims_total', { result: 'none' })).toBeGreaterThan(0);
        for (const figures of [one, other]) {
          expect(figures.value('carillon_leases_lapsed_total')).toBe(0);
          expect(figures.value('carillon_epochs_refused_total')).toBe(0);
          expect(figures.value('carillon_lease_age_seconds')).toBeGreaterThan(0);
          expect(figures.value('carillon_lease_age_seconds')).toBeLessThan(first.config.CARILLON_LEASE_MS / 1_000);
        }
      });
    } finally {
      await second.stop();
      await first.stop();
    }
  });
});

describe('the series', () => {
  const series = (figures: Figures): string[] =>
    [...figures.families.values()].flatMap(({ samples }) =>
      samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`),
    );

  it('are all there from the start, and no more appear', async () => {
    expect(series(await scrape(node))).toEqual(series(atFirst));
  });

  it('are few', () => {
    const most = 600;
    expect(series(atFirst).length).toBeLessThan(most);
  });

  const ours = (): Family[] => [...atFirst.families.values()].filter(({ name }) => name.startsWith('carillon_'));

  it('are named as Prometheus wants it', () => {
    expect(ours().length).toBeGreaterThan(25);
    for (const { name, type } of ours()) {
      expect(name).toMatch(/^carillon_[a-z]+(?:_[a-z]+)*$/);
      expect(name.endsWith('_total'), `${name} is a ${type}`).toBe(type === 'counter');
      expect(name, 'base units').not.toMatch(/_(?:ms|millis\w*|minutes|hours|kib|mib|percent)(?:_|$)/);
      expect(name, 'reserved endings').not.toMatch(/_(?:count|sum|bucket)$/);
      expect(name, 'no type in the name').not.toMatch(/_(?:counter|gauge|histogram)(?:_|$)/);
      if (type === 'histogram') expect(name).toMatch(/_(?:seconds|rows)$/);
      if (/duration|lag|age/.test(name)) expect(name).toMatch(/_seconds$/);
    }
  });

  it('are all described to operators, and nothing else is', () => {
    const text = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
    const table = [...text.matchAll(/^\| `(carillon_[a-z_]+)(?:\{([a-z,]+)\})?` +\| (\w+)/gm)];
    const described = table.map(([, name, labels = '', type]) => `${name} ${labels} ${type}`);
    const present = ours().map(({ name, type, samples }) => {
      const labels = Object.keys(samples[0]?.labels ?? {}).filter((label) => label !== 'le');
      return `${name} ${labels.join()} ${type}`;
    });
    expect(described.sort()).toEqual(present.sort());
    const mentioned = [...text.matchAll(/carillon_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, ''));
    expect(mentioned.filter((name) => !atFirst.families.has(name))).toEqual([]);
  });

  it('say what they are', () => {
    const helps = [...atFirst.families.values()].map(({ help }) => help);
    for (const help of helps) expect(help).toMatch(/^[A-Z0-9].{8,}[^.]$/);
    expect(new Set(helps).size).toBe(helps.length);
  });

  it('of a histogram rise to its count', async () => {
    const now = await scrape(node);
    for (const { name, samples } of [...now.families.values()].filter(({ type }) => type === 'histogram')) {
      const buckets = new Map<string, number[]>();
      for (const { labels, value } of samples.filter((sample) => sample.name === `${name}_bucket`)) {
        const others = JSON.stringify({ ...labels, le: undefined });
        buckets.set(others, [...(buckets.get(others) ?? []), value]);
      }
      expect(samples.filter(({ labels }) => labels.le === '+Inf')).toHaveLength(buckets.size);
      for (const [others, counts] of buckets) {
        expect(counts).toEqual([...counts].sort((one, other) => one - other));
        expect(counts.at(-1)).toBe(now.value(`${name}_count`, JSON.parse(others) as Record<string, string>));
      }
    }
  });
});

describe('/metrics', () => {
  it("is the administrator's alone", async () => {
    expect((await get(node, null)).status).toBe(401);
    expect((await get(node, 'nobody-has-this-one')).status).toBe(401);
    expect((await get(node, node.token)).status).toBe(403);
    const answer = await get(node, node.adminToken);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
  });

  it('is open to everybody where the settings say so', async () => {
    const open = await startTestNode({ CARILLON_METRICS_PUBLIC: true });
    try {
      expect((await get(open, null)).status).toBe(200);
      expect((await fetch(`${open.url}/admin/tenants`)).status).toBe(401);
    } finally {
      await open.stop();
    }
  });

  it('answers while PostgreSQL is unavailable, and says that it is', async () => {
    const postgres = await ownPostgres();
    const other = await startTestNode({
      CARILLON_DATABASE_URL: postgres.url,
      CARILLON_DATABASE_TIMEOUT_MS: 500,
      CARILLON_TOKEN_CACHE_MS: 60_000,
    });
    try {
      await publish(other, '/before');
      postgres.pause();
      expect((await other.call('POST', `/v2/publish/${other.sink.url}`)).status).toBe(503);
      await until(async () => {
        expect((await scrape(other)).value('carillon_store_up', { store: 'table' })).toBe(0);
      });
      postgres.resume();
      await until(async () => {
        expect((await scrape(other)).value('carillon_store_up', { store: 'table' })).toBe(1);
      });
    } finally {
      postgres.resume();
      await other.stop();
      await postgres.stop();
    }
  });
});
