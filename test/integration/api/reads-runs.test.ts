// The record as the API shows it: what ran, when, and what came of it.

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { messageId } from '../../../src/domain/ids.js';
import { countRuns } from '../../../src/postgres/runs/runs.js';
import { DAY, HOUR, MINUTE, Records, SECOND, type Shown } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');
const iso = (timeMs: number): string => new Date(timeMs).toISOString();

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS);
});
afterAll(() => records.close());
beforeEach(async () => {
  await records.database.text('truncate messages, attempts, idempotency_keys');
});

const runs = async (query = ''): Promise<Shown[]> => (await records.get(`/v2/runs${query}`)).json.runs;
const idsOf = async (query: string): Promise<string[]> => (await runs(query)).map((run) => run.messageId.slice(4));
const holdKey = (key: string, id: string): Promise<unknown> =>
  records.database.text(
    "insert into idempotency_keys (tenant_id, scope, key, message_id, created_at) values ($1, 'key', $2, $3, now())",
    [records.tenants[0], key, id],
  );

describe('GET /v2/runs', () => {
  it('shows an occurrence: when due, started and ended, how late, what came of it', async () => {
    const occurrenceAtMs = NOW_MS - DAY;
    const dueAtMs = occurrenceAtMs + 3 * MINUTE;
    const [id] = await records.insert({
      kind: 'occurrence',
      state: 'failed',
      inDlq: true,
      scheduleId: 'nightly',
      occurrenceAtMs,
      dueAtMs,
      createdAtMs: occurrenceAtMs + 1,
      startedAtMs: dueAtMs + 61_000,
      finishedAtMs: dueAtMs + 62_000,
      attempts: 2,
      maxRetries: 1,
      idempotencyKey: 'invoice:2026-06:acme',
      labels: ['billing'],
      lastStatus: 500,
      lastError: 'the receiver answered 500',
      lastHeaders: { 'Content-Type': ['text/plain'] },
      lastBody: Buffer.from('x'.repeat(5_000)),
      node: 'node-1',
      headers: { 'X-Key': ['s3cret'] },
      body: Buffer.from('s3cret'),
      options: { redact: 'body,header' },
    });
    await records.insertAttempts(
      id!,
      {
        attempt: 1,
        startedAtMs: dueAtMs + 12,
        finishedAtMs: dueAtMs + 30,
        error: 'connection refused',
        nextAttemptAtMs: dueAtMs + 60_000,
      },
      {
        attempt: 2,
        startedAtMs: dueAtMs + 61_000,
        finishedAtMs: dueAtMs + 62_000,
        status: 500,
        body: Buffer.from([255]),
      },
    );
    const shown = {
      messageId: `msg_${id}`,
      kind: 'occurrence',
      state: 'failed',
      scheduleId: 'nightly',
      occurrence: iso(occurrenceAtMs),
      key: 'invoice:2026-06:acme',
      labels: ['billing'],
      dueAt: iso(dueAtMs),
      createdAt: iso(occurrenceAtMs + 1),
      startedAt: iso(dueAtMs + 12),
      endedAt: iso(dueAtMs + 62_000),
      latenessMs: 12,
      attempts: 2,
      maxRetries: 1,
      status: 500,
      error: 'the receiver answered 500',
      response: { headers: { 'Content-Type': ['text/plain'] }, body: 'x'.repeat(4_096) },
      destination: 'https://a.test/hook',
      method: 'POST',
      node: 'node-1',
      dlqId: `${dueAtMs + 62_000}-${id}`,
    };
    expect(await runs()).toEqual([shown]);

    const one = await records.get(`/v2/runs/msg_${id}`);
    expect(one.text).not.toContain('s3cret');
    expect(one.json).toMatchObject({ ...shown, response: { body: 'x'.repeat(5_000) }, timeoutMs: 30_000 });
    expect(one.json.request.body).toMatch(/^REDACTED:/);
    expect(one.json.failedAttempts).toEqual([
      {
        attempt: 1,
        startedAt: iso(dueAtMs + 12),
        endedAt: iso(dueAtMs + 30),
        error: 'connection refused',
        nextAttemptAt: iso(dueAtMs + 60_000),
        node: 'node-1',
      },
      {
        attempt: 2,
        startedAt: iso(dueAtMs + 61_000),
        endedAt: iso(dueAtMs + 62_000),
        status: 500,
        response: { bodyBase64: '/w==' },
        node: 'node-1',
      },
    ]);
  });

  it('shows pending and skipped ones', async () => {
    await records.insert(
      { dueAtMs: NOW_MS + HOUR },
      {
        kind: 'occurrence',
        state: 'skipped',
        reason: 'misfire',
        scheduleId: 's',
        occurrenceAtMs: NOW_MS - HOUR,
        coversUntilMs: NOW_MS - MINUTE,
        dueAtMs: NOW_MS - HOUR,
        finishedAtMs: NOW_MS,
      },
    );
    const [waiting, skipped] = await runs();
    expect(waiting).toMatchObject({ state: 'pending', nextAttemptAt: iso(NOW_MS + HOUR), attempts: 0 });
    for (const name of ['startedAt', 'endedAt', 'latenessMs', 'status', 'response', 'key', 'labels', 'reason']) {
      expect(waiting).not.toHaveProperty(name);
    }
    expect(skipped).toMatchObject({ state: 'skipped', reason: 'misfire', coversUntil: iso(NOW_MS - MINUTE) });
    expect(skipped).not.toHaveProperty('nextAttemptAt');
  });

  it('filters, from and to being due times, inclusive', async () => {
    const at = (hours: number): number => NOW_MS - hours * HOUR;
    const [a, b, c] = await records.insert(
      records.delivered({ scheduleId: 's1', dueAtMs: at(1), labels: ['x'] }),
      records.delivered({ scheduleId: 's2', dueAtMs: at(2), labels: ['y', 'z'], state: 'failed' }),
      records.delivered({ dueAtMs: at(30), state: 'skipped', reason: 'overlap' }),
    );
    expect(await idsOf('')).toEqual([a, b, c]);
    expect(await idsOf('?schedule=s1')).toEqual([a]);
    expect(await idsOf('?schedule=s1,s2')).toEqual([a, b]);
    expect(await idsOf('?label=z')).toEqual([b]);
    expect(await idsOf('?state=failed')).toEqual([b]);
    expect(await idsOf('?state=failed,skipped&state=delivered')).toEqual([a, b, c]);
    expect(await idsOf('?state=cancelled')).toEqual([]);
    expect(await idsOf(`?from=${at(1)}`)).toEqual([a]);
    expect(await idsOf(`?from=${at(1) + 1}`)).toEqual([]);
    expect(await idsOf(`?to=${iso(at(2))}`)).toEqual([b, c]);
    expect(await idsOf(`?from=${iso(at(2))}&to=${iso(at(2))}`)).toEqual([b]);
    expect(await idsOf('?from=2026-06-16&to=2026-06-16')).toEqual([c]);
    expect(await idsOf('?from=2026-06-17T12:00:00+02:00')).toEqual([a, b]);
    expect((await records.get('/v2/runs', records.tenants[1])).json.runs).toEqual([]);
    expect((await records.get(`/v2/runs/msg_${a}`, records.tenants[1])).status).toBe(404);
  });

  it('finds a key, and what it was retried from', async () => {
    const [dead, other] = await records.insert(
      records.deadLetter({ idempotencyKey: 'a,b:c', inDlq: false }),
      records.delivered({ idempotencyKey: 'other', scheduleId: 's' }),
    );
    const [again] = await records.insert(
      records.delivered({ kind: 'dlq-retry', sourceId: dead!, idempotencyKey: 'a,b:c', dueAtMs: NOW_MS }),
    );
    await holdKey('a,b:c', dead!);
    expect(await idsOf('?key=a,b:c')).toEqual([dead]);
    await records.database.text('update idempotency_keys set message_id = $1', [again]);
    expect(await idsOf('?key=a,b:c')).toEqual([again, dead]);
    expect(await idsOf('?key=a,b:c&state=delivered')).toEqual([again]);
    expect(await idsOf('?key=unknown')).toEqual([]);
    // The key itself is forgotten, but the record is not.
    expect(await idsOf('?key=other')).toEqual([]);
    expect(await idsOf('?key=other&schedule=s')).toEqual([other]);
    expect(await idsOf('?key=other&from=2026-06-01')).toEqual([other]);
  });

  it('finds an occurrence whenever it was due, and the skipped run that covers it', async () => {
    const day = (n: number): number => NOW_MS - n * DAY;
    const [late, covering] = await records.insert(
      records.delivered({ kind: 'occurrence', scheduleId: 's', occurrenceAtMs: day(1), dueAtMs: day(1) + 5 * HOUR }),
      {
        kind: 'occurrence',
        state: 'skipped',
        scheduleId: 's',
        occurrenceAtMs: day(9),
        coversUntilMs: day(4),
        dueAtMs: day(9),
        finishedAtMs: day(4),
      },
      records.delivered({ kind: 'occurrence', scheduleId: 'other', occurrenceAtMs: day(1), dueAtMs: day(1) }),
    );
    expect(await idsOf(`?schedule=s&occurrence=${iso(day(1))}`)).toEqual([late]);
    expect(await idsOf(`?schedule=s&occurrence=${iso(day(6))}`)).toEqual([covering]);
    expect(await idsOf(`?schedule=s&occurrence=${iso(day(9))}`)).toEqual([covering]);
    expect(await idsOf(`?schedule=s&occurrence=${iso(day(2))}`)).toEqual([]);
    const { status, json } = await records.get(`/v2/runs?occurrence=${day(1)}`);
    expect([status, json.error]).toEqual([400, expect.stringContaining('occurrence needs the schedule')]);
  });

  it('pages from the latest due to the earliest, over weeks, each once', async () => {
    const specs = Array.from({ length: 50 }, (_, index) =>
      records.delivered({
        dueAtMs: NOW_MS + (10 - Math.floor(index / 3)) * 2 * DAY,
        labels: [index % 2 === 0 ? 'even' : 'odd'],
        state: index % 5 === 0 ? 'failed' : 'delivered',
      }),
    );
    const ids = await records.insert(...specs);
    const newestFirst = [...ids].sort().reverse();
    for (const [query, wanted] of [
      ['', newestFirst],
      ['&label=even', newestFirst.filter((id) => ids.indexOf(id) % 2 === 0)],
      ['&state=failed', newestFirst.filter((id) => ids.indexOf(id) % 5 === 0)],
    ] as const) {
      const seen: string[] = [];
      let cursor = '';
      do {
        const { json } = await records.get(`/v2/runs?count=7${query}${cursor}`);
        seen.push(...json.runs.map((run) => run.messageId.slice(4)));
        cursor = json.cursor === undefined ? '' : `&cursor=${json.cursor}`;
      } while (cursor !== '');
      expect(seen).toEqual(wanted);
    }
  });

  it('ends a page that takes too long where it is, and goes on from there', async () => {
    const [id] = await records.insert(records.delivered({ dueAtMs: NOW_MS - DAY, state: 'failed' }));
    await records.database.text(
      `insert into messages (id, tenant_id, shard, kind, state, due_at, next_attempt_at, created_at, destination, method,
         max_retries, timeout_ms)
       select (lpad(to_hex($1::bigint + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $2, 0, 'message', 'delivered',
         now(), now(), now(), 'https://a.test/', 'POST', 3, 1000
       from generate_series(1, 250) n`,
      [NOW_MS - HOUR, records.tenants[0]],
    );
    // A clock on which every look takes three seconds.
    const steady = records.clock.nowMs;
    records.clock.nowMs = () => (records.clock.value += 3 * SECOND);
    try {
      const seen: string[] = [];
      const sizes: number[] = [];
      let cursor = '';
      do {
        const { json } = await records.get(`/v2/runs?state=failed${cursor}`);
        sizes.push(json.runs.length);
        seen.push(...json.runs.map((run) => run.messageId.slice(4)));
        cursor = json.cursor === undefined ? '' : `&cursor=${json.cursor}`;
      } while (cursor !== '');
      expect(seen).toEqual([id]);
      expect(sizes.slice(0, 2)).toEqual([0, 0]);
    } finally {
      records.clock.nowMs = steady;
      records.clock.value = NOW_MS;
    }
  });

  it('answers 404 for a run that is unknown', async () => {
    for (const id of ['nonsense', `msg_${messageId(NOW_MS, randomBytes(10))}`]) {
      expect((await records.get(`/v2/runs/${id}`)).status).toBe(404);
    }
  });

  it.each([
    ['from=soon', 'from is "soon"'],
    ['from=2026-13-45', 'from is'],
    ['to=2026-06-17T12:00:00', 'to is'],
    ['from=2026-06-18&to=2026-06-17', 'from is later than to'],
    ['state=done', 'state is "done", expected one or several of pending'],
    ['sched=s', 'did you mean schedule?'],
    ['count=-1', 'count is "-1"'],
    ['cursor=xyz', 'cursor is "xyz"'],
  ])('refuses %s', async (query, text) => {
    const { status, json } = await records.get(`/v2/runs?${query}`);
    expect([status, json.error]).toEqual([400, expect.stringContaining(text)]);
  });
});

describe('GET /v2/runs/counts', () => {
  it('counts by state what the filter wants', async () => {
    const make = (state: 'pending' | 'delivered' | 'failed' | 'skipped', count: number, hours: number) =>
      Array.from({ length: count }, () => records.delivered({ state, labels: ['n'], dueAtMs: NOW_MS - hours * HOUR }));
    await records.insert(
      ...make('delivered', 4, 1),
      ...make('failed', 3, 1),
      ...make('skipped', 2, 1),
      ...make('pending', 1, 40),
    );
    const counts = async (query: string): Promise<unknown> => (await records.get(`/v2/runs/counts${query}`)).json;
    expect(await counts('')).toEqual({ pending: 1, delivered: 4, failed: 3, canceled: 0, skipped: 2 });
    expect(await counts('?label=n&from=2026-06-17')).toMatchObject({ pending: 0, delivered: 4, failed: 3 });
    expect(await counts('?label=none')).toEqual({ pending: 0, delivered: 0, failed: 0, canceled: 0, skipped: 0 });
    expect((await records.get('/v2/runs/counts?count=1')).status).toBe(400);
  });

  it('reads no more than it may, however few the filter wants', async () => {
    await records.insert(...Array.from({ length: 4 }, () => records.delivered({})));
    const [tenant] = records.tenants;
    const due = { fromMs: null, toMs: null };
    expect(await countRuns(records.database, tenant, { hosts: ['nowhere.test'] }, due, 3)).toBeNull();
    expect(await countRuns(records.database, tenant, { labels: ['none'] }, due, 3)).toMatchObject({ delivered: 0 });
  });
});
