// The events as the API tells them: the life of messages, filtered and in pages.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE, Records, SECOND, type Shown } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS);
});
afterAll(() => records.close());
beforeEach(async () => {
  await records.database.text('truncate messages, attempts');
});

const events = async (query = ''): Promise<Shown[]> => (await records.get(`/v2/events${query}`)).json.events;
const states = async (query = ''): Promise<string[]> => (await events(query)).map((event) => event.state);

/** All pages, one after the other. */
async function walk(query: string): Promise<Shown[]> {
  const all: Shown[] = [];
  let cursor = '';
  for (let pages = 0; pages < 500; pages++) {
    const { json } = await records.get(`/v2/events?${query}${cursor}`);
    all.push(...json.events);
    if (json.cursor === undefined) return all;
    cursor = `&cursor=${json.cursor}`;
  }
  throw new Error('the pages never end');
}

describe('GET /v2/events', () => {
  it('tells the life of a message that is retried, then delivered', async () => {
    const dueAtMs = NOW_MS - 10 * MINUTE;
    const [id] = await records.insert({
      state: 'delivered',
      dueAtMs,
      createdAtMs: dueAtMs - HOUR,
      attempts: 2,
      startedAtMs: dueAtMs + 60_000,
      finishedAtMs: dueAtMs + 60_100,
      lastStatus: 200,
      lastBody: Buffer.from('fine'),
      body: Buffer.from('hi'),
      labels: ['l'],
      scheduleId: 's',
      options: { retryDelay: '1000' },
    });
    await records.insertAttempts(id!, {
      attempt: 1,
      startedAtMs: dueAtMs + 5,
      finishedAtMs: dueAtMs + 15,
      status: 500,
      error: 'the receiver answered 500',
      headers: { 'X-R': ['1'] },
      body: Buffer.from('oops'),
      nextAttemptAtMs: dueAtMs + 60_000,
    });
    const all = await events('?order=earliestFirst');
    expect(all.map((event) => [event.state, event.time - dueAtMs])).toEqual([
      ['CREATED', -HOUR],
      ['ACTIVE', 5],
      ['ERROR', 15],
      ['RETRY', 15],
      ['ACTIVE', 60_000],
      ['DELIVERED', 60_100],
    ]);
    expect(all[2]).toEqual({
      time: dueAtMs + 15,
      state: 'ERROR',
      messageId: `msg_${id}`,
      url: 'https://a.test/hook',
      method: 'POST',
      header: {},
      body: Buffer.from('hi').toString('base64'),
      error: 'the receiver answered 500',
      nextDeliveryTime: dueAtMs + 60_000,
      scheduleId: 's',
      timeout: 30_000,
      maxRetries: 3,
      retryDelayExpression: '1000',
      retryDelayExpr: '1000',
      label: 'l',
      labels: ['l'],
      responseStatus: 500,
      responseHeader: { 'X-R': ['1'] },
      responseHeaders: { 'X-R': ['1'] },
      responseBody: Buffer.from('oops').toString('base64'),
    });
    expect(all[3]!.nextDeliveryTime).toBe(dueAtMs + 60_000);
    expect(await states()).toEqual(['DELIVERED', 'ACTIVE', 'RETRY', 'ERROR', 'ACTIVE', 'CREATED']);
    expect(await events(`?messageIds=msg_${id}&order=earliestFirst`)).toEqual(all);
    expect((await records.get('/v2/logs?order=earliestFirst')).json.logs).toEqual(all);
  });

  it('tells of failure and of cancelling, and nothing of skipped occurrences', async () => {
    const [failed] = await records.insert(records.deadLetter());
    await records.insertAttempts(failed!, {
      attempt: 1,
      startedAtMs: NOW_MS - MINUTE + 10,
      finishedAtMs: NOW_MS - MINUTE + 20,
      status: 500,
    });
    expect(await states()).toEqual(['FAILED', 'ERROR', 'ACTIVE', 'CREATED']);
    await records.database.text('truncate messages, attempts');
    await records.insert(
      { state: 'canceled', dueAtMs: NOW_MS + 30 * DAY, createdAtMs: NOW_MS - HOUR, finishedAtMs: NOW_MS - MINUTE },
      { state: 'skipped', reason: 'overlap', finishedAtMs: NOW_MS - MINUTE },
    );
    expect(await states()).toEqual(['CANCELED', 'CREATED']);
  });

  it('has one DELIVERED event for a message, also where a success came after it was given up', async () => {
    const [id] = await records.insert(records.delivered());
    await records.insertAttempts(id!, {
      attempt: 1,
      startedAtMs: NOW_MS - 2 * MINUTE,
      finishedAtMs: NOW_MS - MINUTE,
      error: 'lost',
    });
    const seen = await states();
    expect(seen.filter((state) => state === 'DELIVERED')).toHaveLength(1);
  });

  it('filters by state, IN_PROGRESS standing for three', async () => {
    const [id] = await records.insert(records.delivered({ attempts: 2 }));
    await records.insertAttempts(id!, {
      attempt: 1,
      startedAtMs: NOW_MS - 2 * MINUTE,
      finishedAtMs: NOW_MS - 2 * MINUTE + 1,
      nextAttemptAtMs: NOW_MS - MINUTE,
    });
    expect(await states('?state=IN_PROGRESS')).toEqual(['ACTIVE', 'RETRY', 'ERROR', 'ACTIVE']);
    expect(await states('?state=CREATED,delivered')).toEqual(['DELIVERED', 'CREATED']);
    expect(await states('?state=RETRY')).toEqual(['RETRY']);
    expect(await states('?state=CANCEL_REQUESTED')).toEqual([]);
    const { status, json } = await records.get('/v2/events?state=GONE');
    expect([status, json.error]).toEqual([400, expect.stringContaining('expected one of CREATED')]);
  });

  it('filters by message, schedule, label, host and time', async () => {
    const [a, b] = await records.insert(
      records.delivered({ labels: ['a'], scheduleId: 'sa', destination: 'https://a.test/' }),
      records.delivered({ labels: ['b'], scheduleId: 'sb', destination: 'https://b.test/', dueAtMs: NOW_MS - 2 * DAY }),
    );
    const of = async (query: string): Promise<Set<string>> =>
      new Set((await walk(query)).map((e) => e.messageId.slice(4)));
    expect(await of(`messageId=msg_${a}`)).toEqual(new Set([a]));
    expect(await of(`messageIds=msg_${a}&messageIds=msg_${b}`)).toEqual(new Set([a, b]));
    expect(await of('messageIds=msg_x')).toEqual(new Set());
    expect(await of('scheduleId=sb')).toEqual(new Set([b]));
    expect(await of('label=b')).toEqual(new Set([b]));
    expect(await of('host=a.test')).toEqual(new Set([a]));
    expect(await of(`toDate=${NOW_MS - DAY}`)).toEqual(new Set([b]));
    expect(await of(`fromDate=${NOW_MS - DAY}`)).toEqual(new Set([a]));
    expect((await records.get('/v2/events?host=a.test', records.tenants[1])).json.events).toEqual([]);
    expect((await records.get(`/v2/events?messageId=msg_${a}`, records.tenants[1])).json.events).toEqual([]);
  });

  it.each(['latestFirst', 'earliestFirst'])('pages through everything once, %s', async (order) => {
    const specs = Array.from({ length: 60 }, (_, index) =>
      // In groups of the same millisecond, and over weeks.
      records.delivered({ dueAtMs: NOW_MS - Math.floor(index / 7) * 4 * DAY - (index % 7 > 3 ? 1 : 0) }),
    );
    await records.insert(...specs);
    const all = await walk(`order=${order}&count=7`);
    expect(all).toHaveLength(180);
    expect(new Set(all.map((event) => `${event.messageId} ${event.state}`)).size).toBe(180);
    const times = all.map((event) => event.time);
    expect(times).toEqual([...times].sort((x, y) => (order === 'earliestFirst' ? x - y : y - x)));
    const first = all.filter((event) => event.messageId === all[0]!.messageId).map((event) => event.state);
    expect(first).toEqual(
      order === 'earliestFirst' ? ['CREATED', 'ACTIVE', 'DELIVERED'] : ['DELIVERED', 'ACTIVE', 'CREATED'],
    );
  });

  it('gives the same pages while new events come in', async () => {
    const specs = Array.from({ length: 20 }, (_, index) => records.delivered({ dueAtMs: NOW_MS - index * SECOND }));
    await records.insert(...specs);
    const first = await records.get('/v2/events?count=10');
    await records.insert(records.delivered({ dueAtMs: NOW_MS }));
    const second = await records.get(`/v2/events?count=100&cursor=${first.json.cursor}`);
    const ids = [...first.json.events, ...second.json.events];
    expect(ids).toHaveLength(60);
    expect(new Set(ids.map((event) => `${event.messageId} ${event.state}`)).size).toBe(60);
  });

  it('pages through a crowd in one millisecond', async () => {
    const dueAtMs = NOW_MS - HOUR;
    await records.database.text(
      `insert into messages (id, tenant_id, shard, kind, state, due_at, next_attempt_at, created_at, destination, method,
         max_retries, timeout_ms)
       select (lpad(to_hex($1::bigint), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid, $2, 0, 'message', 'pending',
         $3::timestamptz, $3::timestamptz, $3::timestamptz, 'https://a.test/', 'POST', 3, 1000
       from generate_series(1, 2500) n`,
      [dueAtMs, records.tenants[0], new Date(dueAtMs).toISOString()],
    );
    const all = await walk('count=1000');
    expect(all).toHaveLength(2_500);
    expect(new Set(all.map((event) => event.messageId)).size).toBe(2_500);
  });

  // Issue 11, entry A2.
  describe('of more messages than a stretch may have', () => {
    /** `count` delivered messages, `apartMs` from one to the next, the last of them at `untilMs`; each failed once before. */
    async function crowd(count: number, apartMs: number, untilMs: number): Promise<void> {
      const values = [count, apartMs, untilMs, records.tenants[0]];
      await records.database.text(
        `insert into messages (id, tenant_id, shard, kind, state, due_at, next_attempt_at, created_at, started_at, finished_at, attempts,
           destination, method, max_retries, timeout_ms)
         select (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $4, 0, 'message', 'delivered',
           at, at, at, at, at, 2, 'https://a.test/', 'POST', 3, 1000
         from (select n, ms, to_timestamp(ms / 1000.0) as at
           from (select n, $3::bigint - n * $2::bigint as ms from generate_series(0, $1::integer - 1) n) spread) timed`,
        values,
      );
      await records.database.text(
        `insert into attempts (message_id, attempt, tenant_id, started_at, finished_at, next_attempt_at)
         select id, 1, tenant_id, created_at, created_at, created_at from messages`,
      );
    }
    const expectAll = async (query: string, count: number): Promise<void> => {
      const all = await walk(query);
      const times = all.map(({ time }) => time);
      const sorted = [...times].sort((a, b) => (query.includes('earliestFirst') ? a - b : b - a));
      expect(times).toEqual(sorted);
      // CREATED, ACTIVE, ERROR, RETRY, ACTIVE, DELIVERED.
      expect(all).toHaveLength(6 * count);
      expect(new Set(all.map(({ messageId, state, time }) => `${messageId} ${state} ${time}`)).size).toBe(5 * count);
    };

    it.each(['latestFirst', 'earliestFirst'])('pages through all, %s, however long ago they were', async (order) => {
      await crowd(2_100, 1_000, NOW_MS - 31 * DAY);
      await expectAll(`order=${order}&count=1000`, 2_100);
    });

    it.each(['latestFirst', 'earliestFirst'])('pages through all of one millisecond, %s', async (order) => {
      await crowd(2_100, 0, NOW_MS - 31 * DAY);
      await expectAll(`order=${order}&count=1000`, 2_100);
      const delivered = await walk(`order=${order}&count=700&state=DELIVERED`);
      expect(new Set(delivered.map(({ messageId }) => messageId)).size).toBe(2_100);
    });
  });

  it('leaves out bodies that are too long, and shows redacted ones as a hash', async () => {
    await records.insert(
      { body: Buffer.alloc(20_000, 'x'), dueAtMs: NOW_MS - SECOND },
      { body: Buffer.from('secret'), options: { redact: 'body' } },
    );
    const [long, hidden] = await events();
    expect(long!.body).toBeUndefined();
    expect(Buffer.from(String(hidden!.body), 'base64').toString()).toMatch(/^REDACTED:[0-9a-f]{64}$/);
  });

  it('takes a time for a cursor, as older clients send it', async () => {
    await records.insert(records.delivered({ dueAtMs: NOW_MS - HOUR }), records.delivered());
    expect(await events(`?cursor=${NOW_MS - 30 * MINUTE}`)).toHaveLength(3);
  });

  it('refuses what it does not know', async () => {
    const { json: page } = await records.get('/v2/events?count=1');
    expect(page.cursor).toBeUndefined();
    await records.insert(records.delivered());
    const cursor = (await records.get('/v2/events?count=1')).json.cursor;
    for (const [query, text] of [
      ['mesageIds=msg_1', 'did you mean messageIds?'],
      ['order=sideways', 'order is "sideways"'],
      ['cursor=%00', 'NUL'],
      [`cursor=${cursor}&order=earliestFirst`, 'expected the cursor of an earlier answer'],
      ['count=0', 'count is "0"'],
    ]) {
      const { status, json } = await records.get(`/v2/events?${query}`);
      expect([status, json.error]).toEqual([400, expect.stringContaining(text!)]);
    }
  });
});
