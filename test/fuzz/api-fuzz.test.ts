// Requests that nobody should send, by thousands, at a real node: it answers each, in time, with what its document says, and goes on.
//
// CARILLON_FUZZ=20000 sends so many (20,000 with CARILLON_TEST_FULL=1), CARILLON_FUZZ_SEED=7 others. Issue 11, must-show 4.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { fromWireMessageId } from '../../src/domain/ids.js';
import type { Database } from '../../src/postgres/database.js';
import { sized } from '../kit/crash-scenario.js';
import { migratedDatabase, openDatabase, TEST_ADMIN_TOKEN, TEST_TOKEN } from '../kit/node.js';
import { nodeProcess, type TestNodeProcess } from '../kit/test-node-process.js';
import { type Sink, startSink } from '../kit/sink.js';
import { type FreshDatabase, freshRedis } from '../kit/stores.js';
import type { OpenApiDocument } from './document.js';
import { reportsOf } from './findings.js';
import { fuzz, type FuzzResult } from './fuzz.js';
import { Pool } from './pool.js';

const REQUESTS = Number(process.env.CARILLON_FUZZ ?? sized(2_000, 20_000));
const SEED = Number(process.env.CARILLON_FUZZ_SEED ?? 1);
/** Small, so that what is around the limits is small too. */
const BODY_MAX_BYTES = 64 * 1_024;
const REPORTED = 60;

let fresh: FreshDatabase;
let database: Database;
let sink: Sink;
let node: TestNodeProcess;
let result: FuzzResult;

beforeAll(async () => {
  fresh = await migratedDatabase();
  database = openDatabase(fresh.url);
  sink = await startSink();
  sink.answer(({ path }) => ({ status: path.startsWith('/fail') ? 500 : 200 }));
  const { url, prefix } = freshRedis();
  node = await nodeProcess({
    CARILLON_DATABASE_URL: fresh.url,
    CARILLON_REDIS_URL: url,
    CARILLON_REDIS_PREFIX: prefix.replace(/:$/, ''),
    CARILLON_BODY_MAX_BYTES: BODY_MAX_BYTES,
    CARILLON_BATCH_MAX_BYTES: 4 * BODY_MAX_BYTES,
    CARILLON_BATCH_MAX_ITEMS: 100,
    CARILLON_SCHEDULE_BATCH_MAX_ITEMS: 100,
  });
  await node.start();
  result = await run();
}, 600_000);

afterAll(async () => {
  await node.stop();
  await sink.close();
  await database.close();
  await fresh.drop();
});

async function run(): Promise<FuzzResult> {
  const asAdmin = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = { authorization: `Bearer ${TEST_ADMIN_TOKEN}` };
    const answer = await node.call('POST', path, { headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(201);
    return (await answer.json()) as Record<string, string>;
  };
  await asAdmin('/admin/tenants', { name: 'rival' });
  const rival = await asAdmin('/admin/tenants/rival/tokens', {});
  const pool = new Pool();
  pool.add('tenant', 'rival');
  for (let count = 0; count < 20; count++) {
    pool.add('tokenId', (await asAdmin('/admin/tenants/rival/tokens', {})).id!);
    pool.add('adminTokenId', (await asAdmin('/admin/tokens', { label: `spare ${count}` })).id!);
  }
  await fillWithWork(rival.token!, pool);
  return fuzz({
    seed: SEED,
    requests: REQUESTS,
    port: Number(new URL(node.url).port),
    document: (await (await node.call('GET', '/openapi.json')).json()) as OpenApiDocument,
    world: { pool, receiver: sink.url },
    tokens: new Map([
      ['default', TEST_TOKEN],
      ['unclear', TEST_TOKEN],
      ['rival', rival.token!],
      ['admin', TEST_ADMIN_TOKEN],
    ]),
    bodyMaxBytes: BODY_MAX_BYTES,
    isAlive: () => node.lives.at(-1)?.endedAtMs === null,
  });
}

/** Messages that are done, wait and failed, and schedules, so that reads and bulk operations have something to find. */
async function fillWithWork(rival: string, pool: Pool): Promise<void> {
  const messages = Array.from({ length: 90 }, (_, index) => ({
    destination: `${sink.url}/${index % 3 === 1 ? 'a' : 'fail'}/${index}`,
    headers: { 'Upstash-Retries': '0', 'Upstash-Label': 'red', ...(index % 3 === 0 && { 'Upstash-Delay': '1h' }) },
  }));
  const schedules = Array.from({ length: 30 }, (_, index) => ({
    destination: `${sink.url}/a/${index}`,
    headers: { 'Upstash-Cron': '0 2 * * *', 'Upstash-Schedule-Id': `fuzz-${index}`, 'Upstash-Label': 'green' },
  }));
  for (const token of [TEST_TOKEN, rival]) {
    const headers = { authorization: `Bearer ${token}` };
    const sent = await node.call('POST', '/v2/batch', { headers, body: JSON.stringify(messages) });
    expect(sent.status).toBe(200);
    if (token === TEST_TOKEN) pool.learn(await sent.json());
    const batch = await node.call('POST', '/v2/schedules/batch', { headers, body: JSON.stringify(schedules) });
    expect(batch.status).toBe(200);
  }
  await sink.waitFor(2 * 60);
  const letters = async (): Promise<unknown[]> =>
    ((await (await node.call('GET', '/v2/dlq')).json()) as { messages: unknown[] }).messages;
  await vi.waitFor(async () => expect(await letters()).toHaveLength(30), { timeout: 20_000 });
  pool.learn(await letters());
}

describe(`${REQUESTS} mutated requests (seed ${SEED})`, () => {
  it('are all sent, and the node lives on and answers', async () => {
    const life = node.lives.at(-1);
    const crash = node.log.filter(({ level }) => level >= 60).map(({ msg }) => msg);
    expect({ endedBy: life?.exitCode ?? null, crash }).toEqual({ endedBy: null, crash: [] });
    expect(result.sent).toBe(REQUESTS);
    expect((await node.call('GET', '/readyz')).status).toBe(200);
  });

  it('get no answer that the API may not give', () => {
    const { findings, statuses, slowestMs } = result;
    process.stdout.write(
      `fuzz: ${REQUESTS} requests, slowest ${Math.round(slowestMs)} ms, ${JSON.stringify(Object.fromEntries(statuses))}\n`,
    );
    const reports = reportsOf(findings, node.log);
    const shown = reports.slice(0, REPORTED).join('\n\n');
    expect(reports.length, `${reports.length} kinds of findings\n${shown}`).toBe(0);
  });

  it('reach every operation of the document with some that succeed', () => {
    // Draining the only node would end what the others need.
    expect(result.untouched.filter((name) => name !== 'POST /admin/nodes/{id}/drain')).toEqual([]);
  });

  it('lose no message that was answered with success', async () => {
    const ids = result.messageIds.map((id) => fromWireMessageId(id));
    const rows = await database.text<{ count: number }>(
      'select count(*)::integer as count from messages where id = any($1::uuid[])',
      [ids],
    );
    expect(ids.length).toBeGreaterThan(REQUESTS / 50);
    expect(rows[0]?.count).toBe(ids.length);
  });

  it('leave nothing in the log that nobody foresaw', () => {
    // What was answered with 500 is among the findings.
    const lines = node.log.filter(({ level, msg }) => level >= 50 && msg !== 'a request failed unexpectedly');
    expect(lines.map((line) => JSON.stringify(line).slice(0, 600))).toEqual([]);
  });
});
