// Issue 11, entry A2, and issue 12, entry 2: reads have their own connections, end in time, and leave nothing running
// in PostgreSQL.

import http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type BoundedReads, type ReadPool } from '../../../src/postgres/reads.js';
import { openDatabase } from '../../kit/node.js';
import { openReads, Records } from '../../kit/records.js';
import { freshDatabase, type FreshDatabase } from '../../kit/stores.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');

/** Statements of a database that run or wait, but for those that ask. */
const RUNNING = `select query from pg_stat_activity
  where datname = current_database() and state = 'active' and query ilike $1 and pid <> pg_backend_pid()`;

describe('a statement of a read', () => {
  let fresh: FreshDatabase;
  let reads: ReadPool;
  beforeAll(async () => {
    fresh = await freshDatabase();
  });
  afterEach(() => reads.close());
  afterAll(() => fresh.drop());

  const slow = (pool: BoundedReads): Promise<object[]> => pool.text('select pg_sleep(30) /* slow */');
  const request = (signal = new AbortController().signal) => ({ tenantId: 1, signal, narrowBy: 'from and to' });

  async function running(): Promise<number> {
    const database = openDatabase(fresh.serverUrl);
    const rows = await database.text(RUNNING, ['%/* slow */%']);
    await database.close();
    return rows.length;
  }

  it('is ended by PostgreSQL when the budget is spent, and says what to narrow', async () => {
    reads = openReads(fresh.url, { budgetMs: 200 });
    await expect(reads.list(request(), slow)).rejects.toMatchObject({
      code: 'READ_TOO_SLOW',
      message: expect.stringMatching(/200 ms.*narrow it by from and to/) as string,
    });
    expect(await running()).toBe(0);
  });

  it('is canceled in PostgreSQL when the client leaves', async () => {
    reads = openReads(fresh.url);
    const left = new AbortController();
    const reading = reads.list(request(left.signal), slow);
    await expect.poll(running).toBe(1);
    left.abort();
    await expect(reading).rejects.toMatchObject({ code: 'CLIENT_GONE' });
    await expect.poll(running, { timeout: 2_000 }).toBe(0);
  });

  it('does not keep a node from ending', async () => {
    reads = openReads(fresh.url);
    const reading = expect(reads.list(request(), slow)).rejects.toMatchObject({ code: 'READ_TOO_SLOW' });
    await expect.poll(running).toBe(1);
    await reads.close();
    await reading;
    await expect.poll(running, { timeout: 2_000 }).toBe(0);
    reads = openReads(fresh.url);
  });

  it('leaves its connection as it was: no timeout, no transaction', async () => {
    reads = openReads(fresh.url, { connections: 1, budgetMs: 500 });
    const timeouts = (): Promise<unknown> =>
      reads.one(request(), async (one) => {
        const [row] = await one.text<{ ms: string }>(`select current_setting('statement_timeout') as ms`);
        return row?.ms;
      });
    expect(await timeouts()).toMatch(/^\d+ms$/);
    await expect(reads.one(request(), slow)).rejects.toThrow('500 ms');
    await expect(reads.one(request(), (one) => one.text('select 1 / 0'))).rejects.toThrow('division by zero');
    await expect(reads.one(request(), (one) => one.text('create table t ()'))).rejects.toThrow('read-only');
    expect(await timeouts()).toMatch(/^\d+ms$/);
  });

  it('of a walk that takes too long ends the walk, with time left to read what it found', async () => {
    reads = openReads(fresh.url, { budgetMs: 400 });
    const found = await reads.list(request(), async (walk) => {
      expect(await walk.step((table) => table.text('select 1'))).toHaveLength(1);
      expect(await walk.step((table) => table.text('select pg_sleep(30)'))).toBeNull();
      expect(walk.isWalkOver).toBe(true);
      return await walk.text<{ two: number }>('select 2 as two');
    });
    expect(found).toEqual([{ two: 2 }]);
  });

  it('waits for a connection no longer than its budget', async () => {
    reads = openReads(fresh.url, { connections: 1, budgetMs: 300 });
    const startedMs = performance.now();
    const both = await Promise.allSettled([reads.one(request(), slow), reads.one(request(), slow)]);
    expect(both.map((one) => one.status)).toEqual(['rejected', 'rejected']);
    expect(performance.now() - startedMs).toBeLessThan(2 * 300);
  });
});

let records: Records;
let url: string;
const openRecords = async (budgetMs: number): Promise<void> => {
  records = await Records.open(NOW_MS, 6, { budgetMs, waitMs: 100 });
  url = await records.app.listen({ port: 0, host: '127.0.0.1' });
};

/** Holds every reader of a table back while `work` runs. */
async function whileLocked(table: string, work: () => Promise<void>): Promise<void> {
  await records.database.transaction(async (connection) => {
    await connection.text(`lock table ${table} in access exclusive mode`);
    await work();
  });
}

/** How many statements wait for a table, or are at it. */
const waiting = async (table: string): Promise<number> =>
  (await records.database.text(RUNNING, [`%from ${table}%`])).length;

const get = (path: string, tenant?: number): Promise<Response> =>
  fetch(`${url}${path}`, { headers: records.headers(tenant) });

describe('a list whose budget is spent', () => {
  beforeAll(() => openRecords(200));
  afterAll(() => records.close());

  it.each([
    ['/v2/runs', 'messages', 'from and to'],
    ['/v2/runs/counts', 'messages', 'from and to'],
    ['/v2/events', 'messages', 'fromDate and toDate'],
    ['/v2/dlq', 'messages', 'fromDate and toDate'],
    ['/v2/schedules?count=10', 'schedules', 'idPrefix'],
    ['/v2/schedules', 'schedules', 'idPrefix'],
    ['/v2/export/schedules', 'schedules', '(CARILLON_READ_BUDGET_MS)'],
    ['/v2/export/messages', 'messages', '(CARILLON_READ_BUDGET_MS)'],
    ['/v2/schedules/s/explain?at=0', 'schedule_changes', '(CARILLON_READ_BUDGET_MS)'],
    [`/v2/runs/msg_${'0'.repeat(32)}`, 'messages', '(CARILLON_READ_BUDGET_MS)'],
  ])('%s is 503 with Retry-After when it cannot begin, and what to narrow', async (path, table, text) => {
    await whileLocked(table, async () => {
      const response = await get(path);
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await response.text()).toContain(text);
    });
  });
});

describe('a list that PostgreSQL is still at', () => {
  beforeAll(() => openRecords(60_000));
  afterAll(() => records.close());

  /** Asks, and leaves when PostgreSQL is at it. */
  async function leave(method: string, path: string, table: string): Promise<void> {
    const request = http.request(`${url}${path}`, { method, headers: records.headers() });
    request.on('error', () => undefined).end();
    await expect.poll(() => waiting(table), { interval: 10 }).toBe(1);
    request.destroy();
  }

  it.each([
    ['GET', '/v2/runs', 'messages'],
    ['GET', '/v2/events?order=earliestFirst', 'messages'],
    ['GET', '/v2/schedules', 'schedules'],
    ['DELETE', '/v2/messages', 'messages'],
    ['DELETE', '/v2/dlq', 'messages'],
  ])('%s %s is canceled there when its client leaves', async (method, path, table) => {
    await whileLocked(table, async () => {
      await leave(method, path, table);
      // Long before the budget is spent.
      await expect.poll(() => waiting(table), { interval: 10, timeout: 3_000 }).toBe(0);
    });
  });

  it('takes one of two turns of its tenant; a third is 429 with Retry-After, and other tenants are served', async () => {
    await whileLocked('schedule_changes', async () => {
      const [one, two] = records.tenants;
      const leaving = new AbortController();
      const held = [1, 2].map(() =>
        fetch(`${url}/v2/schedules/s/explain?at=0`, { headers: records.headers(one), signal: leaving.signal }),
      );
      await expect.poll(() => waiting('schedule_changes'), { interval: 10 }).toBe(2);
      const [third, other, single] = await Promise.all([
        get('/v2/runs', one),
        get('/v2/runs', two),
        get(`/v2/runs/msg_${'0'.repeat(32)}`, one),
      ]);
      expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1']);
      expect(await third.text()).toContain('may read 2 at a time');
      expect([other.status, single.status]).toEqual([200, 404]);
      leaving.abort();
      await Promise.allSettled(held);
      await expect.poll(async () => (await get('/v2/runs', one)).status).toBe(200);
    });
  });
});
