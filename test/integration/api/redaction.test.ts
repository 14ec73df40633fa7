// What Upstash-Redact-Fields hides is seen by the receiver alone: no view, list, callback or retry shows it to anybody else (issue 11, A6).
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { publish, rowsOf, schedule, until, untilState } from '../../kit/work.js';

/** By what it is in: each is text of its own, so that a leak tells where it came from. */
const SECRETS = {
  authorization: 'Bearer s3cret',
  key: 'k3y-of-ours',
  body: 'b0dy-of-ours',
  forCallback: 'c4llback-token',
};
type Secret = keyof typeof SECRETS;

let node: TestNode;

beforeAll(async () => {
  node = await startTestNode();
  // Callbacks are taken, failure callbacks become dead letters themselves.
  node.sink.answer(({ path }) => (path.startsWith('/callback') ? {} : { status: 500 }));
});
afterAll(() => node.stop());

/** All text in a JSON answer: also what stands in it as base64 or as JSON within a text. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') {
    const inner = [value, Buffer.from(value, 'base64').toString()].flatMap((text) => {
      try {
        const parsed: unknown = JSON.parse(text);
        return typeof parsed === 'object' ? textsOf(parsed) : [];
      } catch {
        return [];
      }
    });
    return [value, Buffer.from(value, 'base64').toString(), ...inner];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [name, ...textsOf(part)]);
}

function expectHidden(where: string, answer: unknown, hidden: readonly Secret[]): void {
  const texts = textsOf(answer);
  const shown = hidden.filter((secret) => texts.some((text) => text.includes(SECRETS[secret])));
  expect(shown, where).toEqual([]);
}

async function read(path: string, admin = false): Promise<unknown> {
  const authorization = `Bearer ${admin ? node.adminToken : node.token}`;
  const ask = (): Promise<Response> => node.call('GET', path, { headers: { authorization } });
  // All cases read at once, and more lists of a tenant than may wait are answered with 429.
  const response = await vi.waitFor(
    async () => {
      const answer = await ask();
      if (answer.status === 429) throw new Error('more lists are being read than may be');
      return answer;
    },
    { timeout: 20_000, interval: 20 },
  );
  expect(response.status, path).toBe(200);
  return response.json();
}

const settingsOf = (redact: string, tag: string): Record<string, string> => ({
  'Content-Type': 'text/plain',
  'Upstash-Redact-Fields': redact,
  'Upstash-Retries': '0',
  'Upstash-Label': tag,
  'Upstash-Forward-Authorization': SECRETS.authorization,
  'Upstash-Forward-X-Key': SECRETS.key,
  'Upstash-Callback': `${node.sink.url}/callback-of-${tag}`,
  'Upstash-Callback-Forward-Authorization': SECRETS.forCallback,
  'Upstash-Failure-Callback': `${node.sink.url}/failure-of-${tag}`,
  'Upstash-Failure-Callback-Forward-Authorization': SECRETS.forCallback,
});

const LISTS = [
  '/v2/dlq',
  '/v2/events',
  '/v2/logs',
  '/v2/runs',
  '/v2/schedules',
  '/v2/export/messages',
  '/v2/export/schedules',
];

/** Everything that anybody may read about a message, its callbacks and its schedule. */
async function readAll(tag: string, pendingId: string): Promise<Map<string, unknown>> {
  const list = (await read(`/v2/runs?label=${tag}`)) as { runs: { messageId: string; dlqId?: string }[] };
  // The pending one, the schedule's, and of what ended its callback and failure callback.
  expect(list.runs.length).toBeGreaterThanOrEqual(7);
  const dead = list.runs.flatMap(({ dlqId }) => dlqId ?? []);
  expect(dead.length).toBeGreaterThanOrEqual(4);
  const paths = [
    ...LISTS,
    ...list.runs.map(({ messageId }) => `/v2/runs/${messageId}`),
    ...dead.map((id) => `/v2/dlq/${id}`),
    `/v2/messages/msg_${pendingId}`,
    `/v2/schedules/${tag}`,
    `/v2/schedules/${tag}/explain?at=${Date.now()}`,
  ];
  const answers = await Promise.all(paths.map(async (path) => [path, await read(path)] as const));
  return new Map([...answers, ['/admin/dlq/groups', await read('/admin/dlq/groups?tenant=default', true)]]);
}

/** Sends a message that fails, one that waits, and a run of a schedule, all the same; resolves when they and their callbacks ended. */
async function sendAll(redact: string, tag: string): Promise<{ failedId: string; pendingId: string }> {
  const headers = settingsOf(redact, tag);
  const failedId = await publish(node, `/fails-${tag}`, { headers, body: SECRETS.body });
  const pendingId = await publish(node, `/waits-${tag}`, {
    headers: { ...headers, 'Upstash-Delay': '1h' },
    body: SECRETS.body,
  });
  await schedule(node, tag, '0 0 1 1 *', { headers, body: SECRETS.body });
  expect((await node.call('POST', `/v2/schedules/${tag}/trigger`)).status).toBeLessThan(300);
  await untilState(node, failedId, 'failed');
  await until(async () => {
    const ended = await node.database.text(
      `select id from messages where $1 = any(labels) and kind in ('callback', 'failure-callback') and state in ('delivered', 'failed')`,
      [tag],
    );
    expect(ended).toHaveLength(4);
  });
  return { failedId, pendingId };
}

describe.concurrent('what is redacted (issue 11, A6)', () => {
  it.each<[string, readonly Secret[]]>([
    ['header[Authorization]', ['authorization', 'forCallback']],
    ['HEADER[aUTHORIZATION], headers[x-KEY]', ['authorization', 'forCallback', 'key']],
    ['header[Upstash-Forward-Authorization]', ['authorization']],
    [
      'header[upstash-callback-forward-authorization],header[Upstash-Failure-Callback-Forward-Authorization]',
      ['authorization', 'forCallback'],
    ],
    ['header', ['authorization', 'forCallback', 'key']],
    ['headers', ['authorization', 'forCallback', 'key']],
    ['body', ['body']],
    ['body,header', ['authorization', 'forCallback', 'key', 'body']],
  ])('by %s is in no view, list, callback or retry, and reaches its receiver', async (redact, hidden) => {
    const tag = `t${Buffer.from(redact).toString('hex').slice(-24)}${redact.length}`;
    const { failedId, pendingId } = await sendAll(redact, tag);
    for (const [path, answer] of await readAll(tag, pendingId)) {
      if (LISTS.includes(path)) expectHidden(path, ofLabel(answer, tag), hidden);
      else expectHidden(path, answer, hidden);
    }
    const told = node.sink.calls.filter(({ path }) => new RegExp(`^/(callback|failure)-of-${tag}$`).test(path));
    expect(told).toHaveLength(4);
    for (const { path, body, headers } of told) {
      expectHidden(path, JSON.parse(body.toString()), hidden);
      expect(headers.authorization).toBe(SECRETS.forCallback);
    }
    const source = JSON.parse(told[0]!.body.toString()) as {
      sourceBody: string;
      sourceHeader: Record<string, string[]>;
    };
    const isHash = (text: string | undefined): boolean => /^REDACTED:[0-9a-f]{64}$/.test(text ?? '');
    expect(isHash(Buffer.from(source.sourceBody, 'base64').toString())).toBe(hidden.includes('body'));
    expect(isHash(source.sourceHeader.Authorization?.[0])).toBe(hidden.includes('authorization'));

    const run = (await read(`/v2/runs/msg_${failedId}`)) as { dlqId: string };
    expect((await node.call('POST', `/v2/dlq/retry/${run.dlqId}`)).status).toBe(201);
    const calls = await node.sink.waitFor(2, ({ path }) => path === `/fails-${tag}`);
    for (const { headers, body } of calls) {
      expect(headers).toMatchObject({ authorization: SECRETS.authorization, 'x-key': SECRETS.key });
      expect(body.toString()).toBe(SECRETS.body);
    }
    // The retry's own callbacks come after it.
    for (const { path, body } of await node.sink.waitFor(6, ({ path }) => path.endsWith(`-of-${tag}`))) {
      expectHidden(path, JSON.parse(body.toString()), hidden);
    }
  });

  it('stays so when its dead letter is sent again with other fields', async () => {
    const id = await publish(node, '/narrower', { headers: settingsOf('body', 'narrower'), body: SECRETS.body });
    await untilState(node, id, 'failed');
    const { dlqId } = (await read(`/v2/runs/msg_${id}`)) as { dlqId: string };
    const headers = { 'Upstash-Redact-Fields': 'header[X-Key]', 'Upstash-Retries': '0' };
    const answer = await node.call('POST', `/v2/dlq/retry/${dlqId}`, { headers });
    const { messageId } = (await answer.json()) as { messageId: string };
    expectHidden('the retry', await read(`/v2/runs/${messageId}`), ['body', 'key']);
    const many = { 'Upstash-Redact-Fields': Array.from({ length: 100 }, (_, i) => `header[X-${i}]`).join() };
    await untilState(node, messageId.slice(4), 'failed');
    const again = (await read(`/v2/runs/${messageId}`)) as { dlqId: string };
    expect((await node.call('POST', `/v2/dlq/retry/${again.dlqId}`, { headers: many })).status).toBe(400);
  });

  it.each([
    ['body', 'body'],
    ['header', 'headers'],
    ['header[Authorization]', 'callback'],
  ])('by %s stays so in a schedule whose edit keeps its %s and not its redaction', async (redact, part) => {
    const id = `kept-${part}`;
    await schedule(node, id, '0 0 1 1 *', { headers: settingsOf(redact, id), body: SECRETS.body });
    await schedule(node, id, '0 0 2 1 *', { headers: { 'Carillon-Keep': part } });
    expect(await read(`/v2/schedules/${id}`)).toMatchObject({ cron: '0 0 2 1 *', redact });
    await node.call('POST', `/v2/schedules/${id}/trigger`);
    const [row] = await until(async () => {
      const rows = await rowsOf(node, id);
      expect(rows).not.toEqual([]);
      return rows;
    });
    expectHidden(id, await read(`/v2/messages/msg_${row!.id.replaceAll('-', '')}`).catch(() => null), [
      'body',
      'authorization',
    ]);
    expectHidden(id, await read(`/v2/runs/msg_${row!.id.replaceAll('-', '')}`), ['body', 'authorization']);
  });
});

describe('an edit that keeps what is hidden', () => {
  it.each(['body', 'headers', 'body, headers, redact'])('does not send it to another server: %s', async (part) => {
    const id = `turned-${part.replace(/\W+/g, '-')}`;
    const hidden = { 'Upstash-Redact-Fields': 'body, header[X-Key]', 'Upstash-Forward-X-Key': 'secret' };
    await schedule(node, id, '0 0 1 1 *', { headers: hidden });
    const cron = { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': id, 'Carillon-Keep': part };
    const turned = await node.call('POST', '/v2/schedules/http://127.0.0.9:1/x', { headers: cron });
    expect(turned.status).toBe(400);
    expect(((await turned.json()) as { error: string }).error).toContain(
      'the destination is another server than before',
    );
    // Another path of the same server had it before.
    expect((await node.call('POST', `/v2/schedules/${node.sink.url}/elsewhere`, { headers: cron })).status).toBe(200);
  });
});

/** The items of a list that belong to one test, by label or by the URLs in them. */
function ofLabel(list: unknown, tag: string): unknown {
  const items = Object.values(list as object).flatMap((part: unknown) =>
    Array.isArray(part) ? (part as unknown[]) : [],
  );
  const all = Array.isArray(list) ? (list as unknown[]) : items;
  const own = all.filter((item) => JSON.stringify(item).includes(tag));
  return own;
}
