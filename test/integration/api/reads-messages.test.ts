// A message as the API shows it, and cancels that go by ids and filters.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageId } from '../../../src/domain/ids.js';
import { DAY, HOUR, MINUTE, Records, SECOND } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS);
});
afterAll(() => records.close());

const stateOf = async (id: string): Promise<string | undefined> => {
  const [row] = await records.database.text<{ state: string }>('select state from messages where id = $1', [id]);
  return row?.state;
};

describe('GET /v2/messages/{id}', () => {
  it('shows a pending message with what was set and nothing that was not', async () => {
    const [id] = await records.insert({
      dueAtMs: NOW_MS + HOUR,
      createdAtMs: NOW_MS - SECOND,
      destination: 'https://a.test/p?x=1',
      headers: { 'X-Order-Id': ['7', '8'], 'Content-Type': ['text/plain'] },
      body: Buffer.from('héllo\0'),
      labels: ['a', 'b'],
      options: {
        retryDelay: 'pow(2, retried) * 1000',
        callerIp: '10.0.0.1',
        callback: {
          url: 'https://cb.test/',
          method: null,
          headers: { 'X-Cb': ['1'] },
          retries: null,
          retryDelay: null,
          timeoutMs: null,
          delayMs: null,
        },
      },
    });
    const { status, json } = await records.get(`/v2/messages/msg_${id}`);
    expect(status).toBe(200);
    expect(json).toEqual({
      tier: 'hot',
      messageId: `msg_${id}`,
      url: 'https://a.test/p?x=1',
      method: 'POST',
      header: { 'X-Order-Id': ['7', '8'], 'Content-Type': ['text/plain'] },
      body: 'héllo\0',
      maxRetries: 3,
      retryDelayExpression: 'pow(2, retried) * 1000',
      retryDelayExpr: 'pow(2, retried) * 1000',
      notBefore: NOW_MS + HOUR,
      createdAt: NOW_MS - SECOND,
      timeout: 30_000,
      callback: 'https://cb.test/',
      callbackHeader: { 'X-Cb': ['1'] },
      callerIP: '10.0.0.1',
      label: 'a',
      labels: ['a', 'b'],
    });
  });

  it('shows a body that is no text as base64', async () => {
    const body = Buffer.from([0xff, 0, 0x80]);
    const [id] = await records.insert({ body });
    const { json } = await records.get(`/v2/messages/msg_${id}`);
    expect(json.bodyBase64).toBe(body.toString('base64'));
    expect(json.body).toBeUndefined();
  });

  it('shows redacted fields as hashes', async () => {
    const headers = { 'X-Secret': ['s'], 'X-Open': ['o'] };
    const [id] = await records.insert({
      body: Buffer.from('pw'),
      headers,
      options: { redact: 'body,header[x-secret]' },
    });
    const { json, text } = await records.get(`/v2/messages/msg_${id}`);
    expect(json.body).toMatch(/^REDACTED:[0-9a-f]{64}$/);
    expect(json.header['X-Secret']?.[0]).toMatch(/^REDACTED:[0-9a-f]{64}$/);
    expect(json.header['X-Open']).toEqual(['o']);
    expect(text).not.toContain('"pw"');
  });

  it('answers 404 for what is unknown, malformed, ended, or of another tenant', async () => {
    const [ended] = await records.insert(records.delivered());
    const [foreign] = await records.insert({ tenantId: records.tenants[1] });
    const unknown = messageId(NOW_MS, Buffer.alloc(10, 7));
    for (const id of [`msg_${ended}`, `msg_${foreign}`, `msg_${unknown}`, 'msg_zzz', 'nonsense']) {
      const { status, json } = await records.get(`/v2/messages/${id}`);
      expect([id, status, typeof json.error]).toEqual([id, 404, 'string']);
    }
    expect((await records.get(`/v2/messages/msg_${foreign}`, records.tenants[1])).status).toBe(200);
  });

  it('has no list, and says where there is one', async () => {
    const { status, json } = await records.get('/v2/messages');
    expect(status).toBe(404);
    expect(json.error).toContain('GET /v2/runs');
  });
});

describe('DELETE /v2/messages/{id}', () => {
  it('cancels a pending message once', async () => {
    const [id] = await records.insert({ dueAtMs: NOW_MS + DAY });
    const first = await records.call({ method: 'DELETE', url: `/v2/messages/msg_${id}` });
    expect([first.status, first.json]).toEqual([200, { cancelled: 1 }]);
    expect(await stateOf(id!)).toBe('canceled');
    expect((await records.call({ method: 'DELETE', url: `/v2/messages/msg_${id}` })).status).toBe(404);
  });

  it('does not touch what another tenant has', async () => {
    const [id] = await records.insert({ tenantId: records.tenants[1] });
    expect((await records.call({ method: 'DELETE', url: `/v2/messages/msg_${id}` })).status).toBe(404);
    expect(await stateOf(id!)).toBe('pending');
  });
});

describe('DELETE /v2/messages', () => {
  const cancel = (query: string, payload?: unknown) =>
    records.call({
      method: 'DELETE',
      url: `/v2/messages${query}`,
      ...(payload === undefined
        ? {}
        : { payload: JSON.stringify(payload), headers: { 'content-type': 'application/json' } }),
    });

  it('answers in parts where more are wanted than one call cancels (issue 12)', async () => {
    const label = 'in-parts';
    await records.insert(...Array.from({ length: 520 }, () => ({ dueAtMs: NOW_MS + HOUR, labels: [label] })));
    expect((await cancel(`?label=${label}`)).json).toEqual({ cancelled: 500, more: true });
    expect((await cancel(`?label=${label}`)).json).toEqual({ cancelled: 20 });
    const ids = await records.insert(...Array.from({ length: 510 }, () => ({ dueAtMs: NOW_MS + HOUR })));
    const messageIds = ids.map((id) => `msg_${id}`);
    expect((await cancel('', { messageIds })).json).toEqual({ cancelled: 500, more: true });
    expect((await cancel('', { messageIds })).json).toEqual({ cancelled: 10 });
  });

  it('cancels by ids in repeated query keys, or in a JSON body, more than one batch of them', async () => {
    const ids = await records.insert(...Array.from({ length: 25 }, () => ({ dueAtMs: NOW_MS + HOUR })));
    const [first, second, ...rest] = ids.map((id) => `msg_${id}`);
    const byQuery = await cancel(`?messageIds=${first}&messageIds=${second}&messageIds=msg_nothing`);
    expect(byQuery.json).toEqual({ cancelled: 2 });
    const byBody = await cancel('', { messageIds: [first, ...rest] });
    expect(byBody.json).toEqual({ cancelled: 23 });
  });

  it('cancels nothing when only ids are given that name nothing, or an empty list of them', async () => {
    const [id] = await records.insert({ dueAtMs: NOW_MS + HOUR, labels: ['left'] });
    expect((await cancel('?messageIds=msg_none')).json).toEqual({ cancelled: 0 });
    expect((await cancel('', { messageIds: [] })).json).toEqual({ cancelled: 0 });
    expect(await stateOf(id!)).toBe('pending');
  });

  it.each([
    ['label=red', ['red'], ['blue']],
    ['label=red,green', ['red', 'green'], ['blue']],
    ['label=red&label=green', ['red', 'green'], ['blue']],
    ['label=red&url=https%3A%2F%2Fz.test%2F', [], ['red', 'green', 'blue']],
    ['label=red,blue&host=b.test', ['blue'], ['red', 'green']],
    ['host=B.test:8443', ['blue'], ['red', 'green']],
    ['path=/a,b', ['green'], ['red', 'blue']],
    ['path=/', ['red'], ['green', 'blue']],
    ['scheduleId=s1', ['green'], ['red', 'blue']],
    ['callerIp=10.0.0.9', ['blue'], ['red', 'green']],
    ['callerIP=10.0.0.9', ['blue'], ['red', 'green']],
    [`fromDate=${NOW_MS - 2 * HOUR}&toDate=${NOW_MS - 2 * HOUR}`, ['green'], ['red', 'blue']],
    [`toDate=2026-06-17T09:00:00%2B00:00`, ['red'], ['green', 'blue']],
  ])('filters: %s', async (query, wanted, others) => {
    await cancel('');
    const ids = await records.insert(
      { labels: ['red'], dueAtMs: NOW_MS, createdAtMs: NOW_MS - 3 * HOUR, destination: 'https://a.test' },
      { labels: ['green'], scheduleId: 's1', createdAtMs: NOW_MS - 2 * HOUR, destination: 'https://a.test/a,b?q=1' },
      { labels: ['blue'], destination: 'https://u:p@b.test:8443/x', options: { callerIp: '10.0.0.9' } },
    );
    const byColor = new Map(['red', 'green', 'blue'].map((color, index) => [color, ids[index]!]));
    expect((await cancel(`?${query}`)).json).toEqual({ cancelled: wanted.length });
    for (const color of wanted) expect(await stateOf(byColor.get(color)!)).toBe('canceled');
    for (const color of others) expect(await stateOf(byColor.get(color)!)).toBe('pending');
  });

  it('cancels no more than count, and all without it, in batches, and only the caller’s own', async () => {
    await cancel('');
    await records.insert(...Array.from({ length: 35 }, () => ({ labels: ['many'], dueAtMs: NOW_MS + 20 * DAY })));
    const [foreign] = await records.insert({ tenantId: records.tenants[1], labels: ['many'] });
    expect((await cancel('?label=many&count=1')).json).toEqual({ cancelled: 1 });
    expect((await cancel('?label=many&count=12')).json).toEqual({ cancelled: 12 });
    expect((await cancel('?label=many')).json).toEqual({ cancelled: 22 });
    expect(await stateOf(foreign!)).toBe('pending');
  });

  it('takes filters in a JSON body as well', async () => {
    await cancel('');
    await records.insert({ labels: ['x'] }, { labels: ['y'] });
    expect((await cancel('', { label: 'x', count: 100 })).json).toEqual({ cancelled: 1 });
  });

  it.each([
    ['labeel=a', 400, '"labeel" is no query parameter here; did you mean label?'],
    ['label=', 400, 'label is empty'],
    ['label=,', 400, 'label is empty'],
    ['count=0', 400, 'count is "0"'],
    ['count=501', 400, 'from 1 to 500'],
    ['count=1&count=2', 400, 'count is given 2 times'],
    ['fromDate=yesterday', 400, 'fromDate is "yesterday"'],
    [`fromDate=${NOW_MS}&toDate=${NOW_MS - 1}`, 400, 'fromDate is later than toDate'],
    ['queueName=q', 501, 'queues are not implemented yet'],
    ['topicName=t', 501, 'URL groups are not implemented yet'],
    ['flowControlKey=k', 501, 'flow control is not implemented yet'],
    ['label=%00', 400, 'NUL'],
  ])('refuses %s, and cancels nothing', async (query, status, text) => {
    const [id] = await records.insert({ dueAtMs: NOW_MS + MINUTE });
    const answer = await cancel(`?${query}`);
    expect(answer.status).toBe(status);
    expect(answer.json.error).toContain(text);
    expect(await stateOf(id!)).toBe('pending');
  });

  it('refuses a body that is no object of filters', async () => {
    expect((await cancel('', ['msg_1'])).status).toBe(400);
    expect((await cancel('', { messageIds: [{}] })).status).toBe(400);
    expect((await cancel('', { messageId: ['msg_1'] })).json.error).toContain('did you mean messageIds?');
    const broken = await records.call({ method: 'DELETE', url: '/v2/messages', payload: '{"messageIds":' });
    expect(broken.status).toBe(400);
  });
});
