// The dead letters as the API shows, pages, filters, deletes and retries them.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HOUR, MINUTE, Records, type RowSpec } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS);
});
afterAll(() => records.close());
beforeEach(async () => {
  await records.database.text('delete from messages');
});

const insertDead = async (...specs: RowSpec[]): Promise<string[]> => {
  const rows = specs.map((spec) => records.deadLetter(spec));
  const ids = await records.insert(...rows);
  return ids.map((id, index) => `${rows[index]!.finishedAtMs}-${id}`);
};
const list = async (query = ''): Promise<string[]> => {
  const { json } = await records.get(`/v2/dlq${query}`);
  return json.messages.map((message) => message.dlqId);
};

describe('GET /v2/dlq', () => {
  it('shows a dead letter with its last answer', async () => {
    const [dlqId] = await insertDead({
      scheduleId: 's1',
      body: Buffer.from('{}'),
      lastStatus: 503,
      lastError: 'the receiver answered 503',
      lastHeaders: { 'Retry-After': ['1'] },
      lastBody: Buffer.from('busy'),
    });
    const { json } = await records.get('/v2/dlq');
    expect(json.cursor).toBeUndefined();
    expect(json.messages).toEqual([
      {
        messageId: `msg_${dlqId!.split('-')[1]}`,
        dlqId,
        url: 'https://a.test/hook',
        method: 'POST',
        header: {},
        body: '{}',
        maxRetries: 0,
        notBefore: NOW_MS - MINUTE,
        createdAt: NOW_MS - MINUTE,
        timeout: 30_000,
        scheduleId: 's1',
        responseStatus: 503,
        responseHeader: { 'Retry-After': ['1'] },
        responseHeaders: { 'Retry-After': ['1'] },
        responseBody: 'busy',
        responseError: 'the receiver answered 503',
      },
    ]);
    const one = await records.get(`/v2/dlq/${dlqId}`);
    expect(one.json).toEqual(json.messages[0]);
  });

  it('has status 0 where there was no answer, and base64 where the answer is no text', async () => {
    await insertDead({ lastStatus: null, lastError: 'connection refused' }, { lastBody: Buffer.from([0xc0, 0]) });
    const { json } = await records.get('/v2/dlq');
    const byStatus = new Map(json.messages.map((m) => [m.responseStatus, m]));
    expect(byStatus.get(0)).toMatchObject({ responseError: 'connection refused' });
    expect(byStatus.get(500)).toMatchObject({ responseBodyBase64: 'wAA=' });
  });

  it('pages from the latest to the earliest, each once, while others come and go', async () => {
    const at = (minutes: number) => ({ dueAtMs: NOW_MS - minutes * MINUTE });
    // Two died in the same millisecond, and one is due in an earlier week than it died in.
    const ids = await insertDead(
      at(1),
      at(2),
      { ...at(3), finishedAtMs: NOW_MS - 3 * MINUTE },
      { ...at(3), finishedAtMs: NOW_MS - 3 * MINUTE },
      { dueAtMs: NOW_MS - 14 * 24 * HOUR, finishedAtMs: NOW_MS - 4 * MINUTE },
      at(6),
    );
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const { json } = await records.get(`/v2/dlq?count=2${cursor}`);
      seen.push(...json.messages.map((message) => message.dlqId));
      if (json.cursor === undefined) break;
      cursor = `&cursor=${json.cursor}`;
      await insertDead({ dueAtMs: NOW_MS });
    }
    expect(seen).toHaveLength(6);
    expect(new Set(seen)).toEqual(new Set(ids));
    const times = seen.map((id) => Number(id.split('-')[0]));
    expect(times).toEqual([...times].sort((a, b) => b - a));
  });

  it('ends a page before its bodies get too large', async () => {
    const body = Buffer.alloc(3 * 1_024 * 1_024, 'x');
    await insertDead({ body }, { body }, { body });
    const { json } = await records.get('/v2/dlq');
    expect(json.messages).toHaveLength(2);
    const next = await records.get(`/v2/dlq?cursor=${json.cursor}`);
    expect(next.json.messages).toHaveLength(1);
    expect(next.json.cursor).toBeUndefined();
  });

  it('filters', async () => {
    const [a, b, c] = await insertDead(
      { labels: ['a'], lastStatus: 404, dueAtMs: NOW_MS - 3 * HOUR },
      { labels: ['b'], lastStatus: null, scheduleId: 's', destination: 'https://b.test/x?y=1' },
      { labels: ['a', 'c'], lastStatus: 500 },
    );
    expect(await list('?label=b')).toEqual([b]);
    expect(await list('?label=b,c')).toHaveLength(2);
    expect(await list('?responseStatus=404')).toEqual([a]);
    expect(await list('?responseStatus=0')).toEqual([b]);
    expect(await list('?responseStatus=404,500&label=c')).toEqual([c]);
    expect(await list('?scheduleId=s')).toEqual([b]);
    expect(await list('?url=https%3A%2F%2Fb.test%2Fx%3Fy%3D1')).toEqual([b]);
    expect(await list(`?messageId=msg_${a!.split('-')[1]}`)).toEqual([a]);
    expect(await list(`?dlqIds=${a}&dlqIds=${c}`)).toHaveLength(2);
    expect(await list(`?dlqIds=${a},${c}&label=c`)).toEqual([c]);
    expect(await list('?dlqIds=1-zz')).toEqual([]);
    expect(await list(`?toDate=${NOW_MS - HOUR}`)).toEqual([a]);
    expect(await list(`?fromDate=${NOW_MS - HOUR}`)).toHaveLength(2);
  });

  it('is given up after its time where few are like that, with a cursor that goes on', async () => {
    const [wanted] = await insertDead(
      { lastStatus: 418, dueAtMs: NOW_MS - 2 * HOUR },
      ...Array.from({ length: 25 }, () => ({})),
    );
    const steady = records.clock.nowMs;
    // A clock on which every look takes a second.
    records.clock.nowMs = () => (records.clock.value += 1_000);
    try {
      const pages: string[][] = [];
      let cursor = '';
      do {
        const { json } = await records.get(`/v2/dlq?responseStatus=418&count=9${cursor}`);
        pages.push(json.messages.map((message) => message.dlqId));
        cursor = json.cursor === undefined ? '' : `&cursor=${json.cursor}`;
      } while (cursor !== '');
      expect(pages).toEqual([[], [], [wanted]]);
    } finally {
      records.clock.nowMs = steady;
      records.clock.value = NOW_MS;
    }
  });

  it('refuses what it does not know', async () => {
    for (const [query, text] of [
      ['labeel=a', 'did you mean label?'],
      ['cursor=abc', 'cursor is "abc"'],
      ['responseStatus=teapot', 'responseStatus is "teapot"'],
      ['count=x', 'count is "x"'],
    ]) {
      const { status, json } = await records.get(`/v2/dlq?${query}`);
      expect([status, json.error]).toEqual([400, expect.stringContaining(text!)]);
    }
    const { json } = await records.get('/v2/dlq?count=1000');
    expect(json.messages).toEqual([]);
  });
});

describe('DELETE /v2/dlq', () => {
  it('deletes one, which is gone afterwards and stays in the record', async () => {
    const [dlqId] = await insertDead({});
    const url = `/v2/dlq/${dlqId}`;
    expect((await records.call({ method: 'DELETE', url })).status).toBe(200);
    expect((await records.call({ method: 'DELETE', url })).status).toBe(404);
    expect((await records.get(url)).status).toBe(404);
    const run = await records.get(`/v2/runs/msg_${dlqId!.split('-')[1]}`);
    expect(run.json).toMatchObject({ state: 'failed', status: 500 });
    expect(run.json.dlqId).toBeUndefined();
  });

  it('deletes by ids in the query or a JSON body', async () => {
    const ids = await insertDead({}, {}, {});
    const byQuery = await records.call({ method: 'DELETE', url: `/v2/dlq?dlqIds=${ids[0]}&dlqIds=1-none` });
    expect(byQuery.json).toEqual({ deleted: 1 });
    const byBody = await records.call({ method: 'DELETE', url: '/v2/dlq', payload: JSON.stringify({ dlqIds: ids }) });
    expect(byBody.json).toEqual({ deleted: 2 });
  });

  it('deletes by filter, a page at a time, until there is no cursor', async () => {
    await insertDead(...Array.from({ length: 7 }, () => ({ labels: ['x'] })), { labels: ['y'] });
    const pages: unknown[] = [];
    let cursor = '';
    do {
      const { json } = await records.call({ method: 'DELETE', url: `/v2/dlq?label=x&count=3${cursor}` });
      pages.push(json.deleted);
      cursor = json.cursor === undefined ? '' : `&cursor=${json.cursor}`;
    } while (cursor !== '');
    expect(pages).toEqual([3, 3, 1]);
    expect(await list()).toHaveLength(1);
  });

  it('deletes nothing when a filter is misspelt, and nothing of another tenant', async () => {
    const [own] = await insertDead({ labels: ['x'] });
    const [foreign] = await insertDead({ tenantId: records.tenants[1] });
    expect((await records.call({ method: 'DELETE', url: '/v2/dlq?labeel=x' })).status).toBe(400);
    expect(await list()).toEqual([own]);
    expect((await records.call({ method: 'DELETE', url: `/v2/dlq/${foreign}` })).status).toBe(404);
    expect((await records.call({ method: 'DELETE', url: '/v2/dlq' })).json).toEqual({ deleted: 1 });
    expect((await records.get('/v2/dlq', records.tenants[1])).json.messages).toHaveLength(1);
  });
});

describe('POST /v2/dlq/retry', () => {
  const retry = (path: string, headers: Record<string, string> = {}) =>
    records.call({ method: 'POST', url: `/v2/dlq/retry${path}`, headers });

  it('sends one again as a new message of the same work', async () => {
    const [dlqId] = await insertDead({
      body: Buffer.from([1, 0, 255]),
      headers: { 'X-A': ['1'], 'Content-Type': ['application/x'] },
      scheduleId: 's1',
      occurrenceAtMs: Date.parse('2026-03-08T07:00:00Z'),
      idempotencyKey: 'k1',
      labels: ['l'],
      maxRetries: 2,
      options: { redact: 'body', retryDelay: '1000' },
    });
    const { status, json } = await retry(`/${dlqId}`);
    expect(status).toBe(201);
    expect(await list()).toEqual([]);
    const run = await records.get(`/v2/runs/${json.messageId}`);
    expect(run.json).toMatchObject({
      kind: 'dlq-retry',
      state: 'pending',
      scheduleId: 's1',
      occurrence: '2026-03-08T07:00:00.000Z',
      key: 'k1',
      labels: ['l'],
      maxRetries: 2,
      sourceMessageId: `msg_${dlqId!.split('-')[1]}`,
      request: { headers: { 'X-A': ['1'], 'Content-Type': ['application/x'] } },
    });
    expect(run.json.request.body).toMatch(/^REDACTED:/);
    const [row] = await records.database.text<{ body: Buffer }>('select body from messages where id = $1', [
      json.messageId.slice(4),
    ]);
    expect(row!.body).toEqual(Buffer.from([1, 0, 255]));
    expect((await retry(`/${dlqId}`)).status).toBe(404);
  });

  it('takes settings from headers in place of the stored ones', async () => {
    const [dlqId] = await insertDead({
      headers: { 'X-A': ['1'], 'Content-Type': ['text/x'] },
      maxRetries: 2,
      labels: ['l'],
      method: 'PUT',
    });
    const { json } = await retry(`/${dlqId}`, {
      'upstash-retries': '7',
      'upstash-delay': '1h',
      'upstash-forward-x-b': '2',
      'content-type': 'application/json',
    });
    const run = await records.get(`/v2/runs/${json.messageId}`);
    expect(run.json).toMatchObject({
      maxRetries: 7,
      method: 'PUT',
      labels: ['l'],
      dueAt: new Date(NOW_MS + HOUR).toISOString(),
      request: { headers: { 'X-A': ['1'], 'X-B': ['2'], 'Content-Type': ['text/x'] } },
    });
  });

  it('keeps the dead letter when a setting is wrong', async () => {
    const [dlqId] = await insertDead({});
    expect((await retry(`/${dlqId}`, { 'upstash-retries': 'many' })).status).toBe(400);
    expect((await retry(`/${dlqId}`, { 'upstash-deduplication-id': 'x' })).status).toBe(400);
    expect(await list()).toEqual([dlqId]);
  });

  it('sends many again, a page at a time', async () => {
    await insertDead(...Array.from({ length: 5 }, () => ({ labels: ['x'] })), { labels: ['y'] });
    const first = await retry('?label=x&count=3');
    expect(first.status).toBe(201);
    expect(first.json.responses).toHaveLength(3);
    const second = await retry(`?label=x&count=3&cursor=${first.json.cursor}`);
    expect(second.json.responses).toHaveLength(2);
    expect(second.json.cursor).toBeUndefined();
    const ids = [...first.json.responses, ...second.json.responses].map(
      (answer: { messageId: string }) => answer.messageId,
    );
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect((await records.get(`/v2/messages/${id}`)).status).toBe(200);
    expect(await list()).toHaveLength(1);
  });

  it('answers with those that were there, once each, however many ask at the same time', async () => {
    const ids = await insertDead({}, {}, {});
    const query = `?${ids.map((id) => `dlqIds=${id}`).join('&')}&dlqIds=5-gone`;
    const answers = await Promise.all([retry(query), retry(query), retry(query)]);
    const all = answers.flatMap((answer) => answer.json.responses);
    expect(all).toHaveLength(3);
  });
});
