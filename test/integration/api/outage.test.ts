// What clients see while PostgreSQL is unavailable, while a node stops, and when we have made a mistake.

import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildApp } from '../../../src/api/app.js';
import type { ApiServices } from '../../../src/api/services.js';
import { configWith } from '../../../src/config.js';
import type { Intake } from '../../../src/intake/intake.js';
import { Database } from '../../../src/postgres/database.js';
import { migrate } from '../../../src/postgres/migrate.js';
import { partitionBounds } from '../../../src/postgres/maintenance.js';
import type { ReadPool } from '../../../src/postgres/reads.js';
import { ensureTenant } from '../../../src/postgres/tenants/tenants.js';
import { NO_FIGURES } from '../../kit/figures.js';
import { NO_CLUSTER, openReads } from '../../kit/records.js';
import { type OwnStore, ownPostgres } from '../../kit/stores.js';
import { processTime } from '../../../src/time/process-time.js';

const TOKEN = 'outage-token-0123456789';
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const random = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes));

let postgres: OwnStore;
let database: Database;
let reads: ReadPool;
beforeAll(async () => {
  postgres = await ownPostgres();
  database = new Database({
    time: processTime,
    url: postgres.url,
    poolSize: 3,
    timeoutMs: 5_000,
    onError: () => undefined,
  });
  reads = openReads(postgres.url);
  await migrate(database, { shards: 4, ...partitionBounds(Date.now(), { delayMaxMs: 60_000 }) });
  await ensureTenant(database, { name: 'default', token: TOKEN, currentKey: null, nextKey: null }, random);
});
afterAll(async () => {
  await database.close();
  await reads.close();
  await postgres.stop();
});

/** An intake that does one thing whatever it is asked. */
const intakeThat = (answer: () => Promise<never>): Intake => new Proxy({} as Intake, { get: () => answer });

function services(changes: Partial<ApiServices> = {}): ApiServices {
  return {
    config: configWith({ CARILLON_TOKEN_CACHE_MS: 0 }),
    clock: { nowMs: () => Date.now() },
    time: processTime,
    random,
    database,
    reads,
    intake: intakeThat(() => Promise.reject(new Error('a secret detail'))),
    logger: pino({ level: 'silent' }),
    cluster: NO_CLUSTER,
    health: { ready: () => ({ ok: false, why: 'this node is draining' }), leaving: () => false },
    metrics: NO_FIGURES,
    ...changes,
  };
}

describe('a fault of ours', () => {
  it('is a 500 that says only under which id it was logged', async () => {
    const lines: string[] = [];
    const log = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(chunk.toString());
        done();
      },
    });
    const app = buildApp(services({ logger: pino({ level: 'info' }, log) }));
    for (const [url, payload] of [
      ['/v2/publish/https://a.test', ''],
      ['/v2/batch', JSON.stringify([{ destination: 'https://a.test' }])],
    ] as const) {
      const response = await app.inject({ method: 'POST', url, headers: HEADERS, payload });
      expect(response.statusCode).toBe(500);
      const { error } = response.json<{ error: string }>();
      const [, requestId = ''] = /logged as request ([0-9a-f]{16})$/.exec(error) ?? [];
      expect(lines.at(-1)).toContain(requestId);
      expect(lines.at(-1)).toContain('a secret detail');
    }
    expect(lines).toHaveLength(2);
    await app.close();
  });
});

describe('a node', () => {
  it.each([
    [undefined, 'ready'],
    [{ served: 256, total: 256 }, 'ready'],
    [{ served: 254, total: 256 }, 'ready, 254/256 shards'],
    [{ served: 0, total: 256 }, 'ready, 0/256 shards'],
  ])('of whose cluster %j is served takes requests and is "%s"', async (shards, status) => {
    const health = { ready: () => ({ ok: true, ...(shards === undefined ? {} : { shards }) }), leaving: () => false };
    const app = buildApp(services({ health }));
    const ready = await app.inject('/readyz');
    expect([ready.statusCode, ready.json()]).toEqual([200, { status }]);
    await app.close();
  });
});

describe('a node that should get no requests', () => {
  it('is alive but not ready, and says why', async () => {
    const app = buildApp(services());
    expect((await app.inject('/healthz')).statusCode).toBe(200);
    const ready = await app.inject('/readyz');
    expect([ready.statusCode, ready.json()]).toEqual([503, { error: 'this node is draining' }]);
    await app.close();
  });
});

describe('while PostgreSQL is frozen', () => {
  it('a read is given up after its budget, and keeps nobody from ending (issue 11, A2)', async () => {
    const frozen = openReads(postgres.url, { budgetMs: 200, connections: 1 });
    const request = { tenantId: 1, signal: new AbortController().signal, narrowBy: '' };
    await frozen.one(request, (one) => one.text('select 1'));
    postgres.pause();
    try {
      const reading = frozen.one(request, (one) => one.text('select 1'));
      await expect(reading).rejects.toMatchObject({ code: 'READ_TOO_SLOW' });
      await frozen.close();
    } finally {
      postgres.resume();
    }
  });
});

describe('while PostgreSQL is unavailable', () => {
  it('requests are answered with 503 and when to come again, and all is well once it is back', async () => {
    const app = buildApp(services());
    const get = () => app.inject({ url: '/v2/schedules', headers: HEADERS });
    expect((await get()).statusCode).toBe(200);
    await postgres.kill9();
    for (let times = 0; times < 3; times++) {
      const response = await get();
      expect(response.statusCode).toBe(503);
      expect(response.headers['retry-after']).toBe('1');
      expect(response.json<{ error: string }>().error).toMatch(/^PostgreSQL is unavailable/);
    }
    expect((await app.inject('/healthz')).statusCode).toBe(200);
    await postgres.restart();
    await expect.poll(async () => (await get()).statusCode, { timeout: 10_000 }).toBe(200);
    await app.close();
  });
});
