// Issue 11, B1 to B4, and issue 12: what the API is given means what people meant by it, wherever it comes in;
// otherwise it is refused.

import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

interface Answer {
  readonly status: number;
  readonly error: string;
}

async function answerOf(response: Response): Promise<Answer> {
  const { error = '' } = (await response.json()) as { error?: string };
  return { status: response.status, error };
}

const schedule = (headers: Record<string, string>): Promise<Response> =>
  node.call('POST', `/v2/schedules/${node.sink.url}/s`, { headers: { 'Upstash-Cron': '0 2 * * *', ...headers } });
const publish = (headers: Record<string, string>): Promise<Response> =>
  node.call('POST', `/v2/publish/${node.sink.url}/p`, { headers });
const json = (method: string, path: string, body: unknown): Promise<Response> =>
  node.call(method, path, { body: JSON.stringify(body) });

/** A request target as it stands, which fetch would repair. */
async function raw(target: string, headers: Record<string, string> = {}): Promise<Answer> {
  const { hostname, port } = new URL(node.url);
  return new Promise((resolve, reject) => {
    const authorization = `Bearer ${node.token}`;
    const sent = request({ hostname, port, method: 'POST', path: target, headers: { ...headers, authorization } });
    sent.once('error', reject);
    sent.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.once('end', () => {
        const { error = '' } = JSON.parse(text) as { error?: string };
        resolve({ status: response.statusCode ?? 0, error });
      });
    });
    sent.end();
  });
}

/** Every place in which a calendar comes in; each answers with 400. */
async function everywhere(cron: string, timeZone?: string): Promise<Answer[]> {
  const beside: Record<string, string> = timeZone === undefined ? {} : { 'Carillon-Time-Zone': timeZone };
  const headers = { 'Upstash-Cron': cron, ...beside };
  const item = { destination: `${node.sink.url}/s`, headers };
  const batch = await json('POST', '/v2/schedules/batch', [item]);
  const [first] = (await batch.json()) as [{ status?: number; error?: string }];
  return [
    await answerOf(await schedule(headers)),
    await answerOf(await publish(headers)),
    await answerOf(await json('POST', '/v2/cron/preview', { cron, ...(timeZone !== undefined && { timeZone }) })),
    { status: first.status ?? batch.status, error: first.error ?? '' },
  ];
}

describe('a time zone', () => {
  it.each([
    ['BST', 'Europe/London'],
    ['PST', 'America/Los_Angeles'],
    ['Amercia/New_York', 'America/New_York'],
    ['+02:00', 'Etc/GMT-2'],
  ])('%s is refused wherever it comes in, with %s', async (name, meant) => {
    for (const answer of [
      ...(await everywhere('0 2 * * *', name)),
      ...(await everywhere(`CRON_TZ=${name} 0 2 * * *`)),
      ...(await everywhere(`TZ=${name} 0 2 * * *`)),
    ]) {
      expect(answer.status).toBe(400);
      expect(answer.error).toContain(`did you mean ${meant}?`);
    }
  });

  it('is kept in the spelling of the database', async () => {
    await schedule({ 'Upstash-Schedule-Id': 'spelled', 'Carillon-Time-Zone': 'america/new_york' });
    const view = await (await node.call('GET', '/v2/schedules/spelled')).json();
    expect(view).toMatchObject({ timeZone: 'America/New_York' });
  });

  it('of a row from before fires on, is explained and resumed, and is refused only when it is given again', async () => {
    const headers = { 'Upstash-Schedule-Id': 'before', 'Upstash-Cron': '* * * * * *', 'Carillon-Time-Zone': 'UTC' };
    await schedule(headers);
    await node.call('PATCH', '/v2/schedules/before/pause');
    await node.database.text(`update schedules set time_zone = 'BST' where id = 'before'`);
    expect((await node.call('PATCH', '/v2/schedules/before/resume')).status).toBe(200);
    await node.sink.waitFor(1, (call) => call.scheduleId === 'before');
    const { times } = (await (await node.call('GET', '/v2/schedules/before/next')).json()) as {
      times: { local: string }[];
    };
    expect(times[0]?.local).toMatch(/\+06:00$/);
    const at = new Date(Date.now() - 1_000).toISOString();
    expect((await node.call('GET', `/v2/schedules/before/explain?at=${at}`)).status).toBe(200);
    expect((await schedule({ ...headers, 'Carillon-Time-Zone': 'BST' })).status).toBe(400);
    await node.call('DELETE', '/v2/schedules/before');
  });
});

it.each([
  ['0 2 * * ? *', '0 2 * * *'],
  ['cron(0 12 ? * 2-6 *)', '0 12 * * MON-FRI'],
  ['rate(5 minutes)', '@every 5m'],
])('an expression of another scheduler, %s, is refused wherever it comes in, with %s', async (cron, meant) => {
  for (const { status, error } of await everywhere(cron)) {
    expect(status).toBe(400);
    expect(error).toContain(`did you mean "${meant}"?`);
  }
});

describe('a time', () => {
  it.each([
    '2027-02-30T00:00:00Z',
    '2027-01-01T24:00:00Z',
    '2026-12-31T23:59:60Z',
    '2027-01-01T00:00:00+15:00',
    '0000-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    '2027-01-01T00:00:00',
  ])('%s is refused wherever times come in', async (text) => {
    await schedule({ 'Upstash-Schedule-Id': 'timed' });
    const query = encodeURIComponent(text);
    const answers = [
      await schedule({ 'Carillon-Start': text }),
      await schedule({ 'Carillon-End': text }),
      await publish({ 'Upstash-Not-Before': text }),
      await json('POST', '/v2/cron/preview', { cron: '@daily', from: text }),
      await node.call('GET', `/v2/schedules/timed/next?from=${query}`),
      await node.call('GET', `/v2/schedules/timed/explain?at=${query}`),
      await node.call('GET', `/v2/runs?fromDate=${query}`),
      await node.call('GET', `/v2/logs?toDate=${query}`),
      await node.call('GET', `/v2/dlq?fromDate=${query}`),
      await json('DELETE', '/v2/dlq', { fromDate: text }),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 400));
  });

  it('of a date alone must be a day that exists', async () => {
    expect((await node.call('GET', '/v2/logs?fromDate=2026-02-28')).status).toBe(200);
    expect(await answerOf(await node.call('GET', '/v2/logs?fromDate=2026-02-30'))).toMatchObject({
      status: 400,
      error: expect.stringContaining('2026-02 has 28 days') as string,
    });
  });
});

describe('a host that is empty', () => {
  it.each([
    'http:///h/x',
    'http:////h',
    'https:///h',
    'http://@/x',
    'http://:80/',
    'http://\\h/',
    'http:\\\\h/',
    'http:h',
  ])('%s is refused wherever destinations come in', async (url) => {
    const settings = { 'Upstash-Cron': '@daily' };
    const encoded = encodeURIComponent(url);
    const batch = (await (await json('POST', '/v2/batch', [{ destination: url }])).json()) as [{ error?: string }];
    const items = [{ destination: url, headers: settings }];
    const schedules = (await (await json('POST', '/v2/schedules/batch', items)).json()) as [{ error?: string }];
    const answers = [
      await raw(`/v2/publish/${url}`),
      await raw(`/v2/publish/${encoded}`),
      await raw(`/v2/schedules/${url}`, settings),
      await answerOf(await publish({ 'Upstash-Callback': url })),
      await answerOf(await publish({ 'Upstash-Failure-Callback': url })),
      await answerOf(await schedule({ 'Upstash-Callback': url })),
      { status: 400, error: batch[0].error ?? '' },
      { status: 400, error: schedules[0].error ?? '' },
    ];
    for (const { status, error } of answers) {
      expect(status).toBe(400);
      expect(error).toMatch(/invalid (?:destination|callback|failure callback) url: /);
    }
  });
});

it.each(['.', '..'])('the id %s, which URLs eat, is refused for schedules and tenants', async (id) => {
  expect(await answerOf(await schedule({ 'Upstash-Schedule-Id': id }))).toMatchObject({ status: 400 });
  const headers = { authorization: `Bearer ${node.adminToken}` };
  const response = await node.call('POST', '/admin/tenants', { headers, body: JSON.stringify({ name: id }) });
  expect(await answerOf(response)).toMatchObject({ status: 400, error: expect.stringContaining('"."') as string });
});
