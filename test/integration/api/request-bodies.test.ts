// Bodies of requests (issue 11, A3): whatever is sent, the node goes on with other work, and holds no more than it may.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withLongestTurn } from '../../kit/longest-turn.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { NONSENSE } from '../../../bench/nonsense.js';
import { openUpload, upload, type UploadAnswer } from '../../../bench/raw-upload.js';

const MIB = 2 ** 20;
/** By what this process computes, and not by the clock: others may be busy on the machine. */
const LONGEST_TURN_MS = 150;

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode({
    CARILLON_BODIES_MAX_BYTES: 96 * MIB,
    CARILLON_TENANT_BODIES_MAX_BYTES: 40 * MIB,
    CARILLON_BODY_STALL_MS: 300,
  });
});
afterAll(() => node.stop());

const errorOf = ({ body }: UploadAnswer): string => (JSON.parse(body) as { error: string }).error;

describe('a batch of nonsense', () => {
  it.each(NONSENSE)('never holds up the node: %s', async (_name, make, statuses) => {
    const body = make();
    const target = { url: node.url, path: '/v2/batch', token: node.token, length: body.length };
    const { result, longestMs } = await withLongestTurn(() => upload(target, body));
    expect(statuses, result.body.slice(0, 300)).toContain(result.status);
    if (result.status !== 200) expect(errorOf(result)).toMatch(/JSON|batch|list/);
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });

  it.each(['/v2/batch', '/v2/schedules/batch'])('is refused by %s while it arrives', async (path) => {
    const open = await openUpload({ url: node.url, path, token: node.token });
    await open.send(`[${'{},'.repeat(6_000)}`);
    const answer = await open.answer;
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatch(/at most \d+ are allowed \(CARILLON_\w*BATCH_MAX_ITEMS\)/);
    expect(answer.headers).toMatch(/^connection: close$/im);
    await open.closed;
  });

  it('does not hold up the node when many come at once', async () => {
    const items = Array.from({ length: 400 }, () => ({ destination: 5, headers: { a: 'b' }, body: 'b'.repeat(5_000) }));
    const body = Buffer.from(JSON.stringify(items));
    const target = { url: node.url, path: '/v2/batch', token: node.token, length: body.length };
    const { result, longestMs } = await withLongestTurn(() =>
      Promise.all(Array.from({ length: 15 }, () => upload(target, body))),
    );
    expect(result.map(({ status }) => status)).toEqual(Array.from({ length: 15 }, () => 200));
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });
});

describe('large bodies that come at once', () => {
  it('are read one small piece at a time, and in between the node looks after everything else', async () => {
    const body = Buffer.from(`[1,2]${' '.repeat(20 * MIB)}`);
    const tokens = await Promise.all(['piece-1', 'piece-2', 'piece-3', 'piece-4'].map((name) => tenantToken(name)));
    const state = { rounds: 0, isOver: false };
    const count = (): void => {
      state.rounds++;
      if (!state.isOver) setImmediate(count);
    };
    setImmediate(count);
    const uploads = tokens.map((token) =>
      upload({ url: node.url, path: '/v2/batch', token, length: body.length }, body, body.length),
    );
    const answers = await Promise.all(uploads);
    state.isOver = true;
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(state.rounds).toBeGreaterThan((tokens.length * body.length) / (128 * 1_024));
  });
});

describe('the largest batch that is allowed', () => {
  it('is accepted without holding up the node', async () => {
    const item = {
      destination: `${node.sink.url}/large`,
      headers: { 'Upstash-Delay': '1d' },
      body: 'b'.repeat(30_000),
    };
    const body = Buffer.from(JSON.stringify(Array.from({ length: 1_000 }, () => item)));
    const target = { url: node.url, path: '/v2/batch', token: node.token, length: body.length };
    const { result, longestMs } = await withLongestTurn(() => upload(target, body));
    expect(result.status).toBe(200);
    expect(JSON.parse(result.body)).toHaveLength(1_000);
    expect(longestMs).toBeLessThan(LONGEST_TURN_MS);
  });
});

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

/** What reads JSON where it comes, and filters from the query as well. */
const FILTER_ROUTES = [
  { method: 'DELETE', path: '/v2/messages' },
  { method: 'DELETE', path: '/v2/dlq' },
  { method: 'POST', path: '/v2/dlq/retry' },
];

/** Method and path of all that reads JSON, as the API's own document says. */
async function jsonRoutes(): Promise<{ method: string; path: string }[]> {
  const response = await node.call('GET', '/openapi.json');
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { requestBody }]) => requestBody !== undefined && 'application/json' in requestBody.content)
      .filter(([, { requestBody }]) => !('*/*' in (requestBody?.content ?? {})))
      .map(([method]) => ({ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, 'x') })),
  );
}

describe('JSON that is nested 8,000 deep', () => {
  it('is a 400 that names the limit, on every route that reads JSON', async () => {
    const routes = [...(await jsonRoutes()), ...FILTER_ROUTES];
    expect(routes.length).toBeGreaterThanOrEqual(8);
    const answers = routes.flatMap(({ method, path }) =>
      ['[{"a":', '[', '{"cron":'].map(async (unit) => {
        const token = path.startsWith('/admin') ? node.adminToken : node.token;
        const headers = { authorization: `Bearer ${token}` };
        const response = await node.call(method, path, { headers, body: unit.repeat(8_000) });
        return { route: `${method} ${path}`, unit, status: response.status, text: await response.text() };
      }),
    );
    for (const { route, unit, status, text } of await Promise.all(answers)) {
      const isNoList = route.includes('batch') && unit.startsWith('{');
      expect([route, status, text]).toEqual([
        route,
        400,
        expect.stringContaining(isNoList ? 'no JSON array' : 'CARILLON_JSON_DEPTH_MAX'),
      ]);
    }
  });

  it('and one with too many members, name their limits where it ends well', async () => {
    const deep = `${'['.repeat(8_000)}${']'.repeat(8_000)}`;
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, n])));
    const answers = [`{"cron":${deep}}`, many].map(async (body) => {
      const response = await node.call('POST', '/v2/cron/preview', { body });
      return [response.status, await response.text()];
    });
    expect(await Promise.all(answers)).toEqual([
      [400, expect.stringContaining('CARILLON_JSON_DEPTH_MAX')],
      [400, expect.stringContaining('CARILLON_JSON_VALUES_MAX')],
    ]);
  });
});

describe('a body of a caller that is not known', () => {
  it.each([
    ['/v2/publish/https://a.test', 401],
    ['/nowhere', 404],
    ['/healthz', 405],
  ])('is not waited for at %s', async (path, status) => {
    const open = await openUpload({ url: node.url, path, length: MIB });
    await open.send('x');
    const answer = await open.answer;
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatch(/^connection: close$/im);
    await open.closed;
  });
});

describe('bodies that a node has no room for', () => {
  const announce = (length: number, path = '/v2/batch') =>
    openUpload({ url: node.url, path, token: node.token, length });

  it('are refused with 429 beyond the share of a tenant, before anything was sent, and taken once there is room', async () => {
    const first = await announce(30 * MIB);
    await first.send('[');
    const second = await announce(30 * MIB);
    const answer = await second.answer;
    expect(answer.status).toBe(429);
    expect(answer.headers).toMatch(/^retry-after: 1$/im);
    expect(errorOf(answer)).toContain('CARILLON_TENANT_BODIES_MAX_BYTES');
    const small = await node.call('POST', `/v2/publish/${node.sink.url}/small`, { body: 'small' });
    expect(small.status).toBe(200);
    // It goes away in the middle, and leaves its room to others.
    first.socket.destroy();
    const taken = async (): Promise<number> => {
      const body = Buffer.from(`[1,2]${' '.repeat(30 * MIB)}`);
      const target = { url: node.url, path: '/v2/batch', token: node.token, length: body.length };
      return (await upload(target, body)).status;
    };
    await expect.poll(taken, { timeout: 10_000 }).toBe(200);
  });

  it('are refused with 503 beyond what the node has for all, small ones still getting in', async () => {
    const others = await Promise.all(['busy-1', 'busy-2', 'busy-3'].map((name) => tenantToken(name)));
    const uploads = await Promise.all(
      others.map((token) => openUpload({ url: node.url, path: '/v2/batch', token, length: 30 * MIB })),
    );
    const answer = await Promise.race(uploads.map(({ answer: each }) => each));
    expect(answer.status).toBe(503);
    expect(answer.headers).toMatch(/^retry-after: 1$/im);
    expect(errorOf(answer)).toContain('CARILLON_BODIES_MAX_BYTES');
    const small = await node.call('POST', `/v2/publish/${node.sink.url}/small`, { body: 'small' });
    expect(small.status).toBe(200);
    for (const { socket } of uploads) socket.destroy();
  });

  it('are counted as they come when nothing says how large they are', async () => {
    const token = await tenantToken('chunked');
    const holder = await openUpload({ url: node.url, path: '/v2/batch', token, length: 32 * MIB });
    await holder.send('[');
    const open = await openUpload({ url: node.url, path: '/v2/batch', token });
    // Items of a megabyte, so that nothing but their sum is too large.
    await open.send('[');
    for (let sent = 0; sent < 10; sent++) await open.send(`"${'x'.repeat(MIB)}",`);
    const answer = await open.answer;
    expect([answer.status, answer.body]).toEqual([429, expect.stringContaining('CARILLON_TENANT_BODIES_MAX_BYTES')]);
    holder.socket.destroy();
  });

  it('are refused with 408 when they trickle, and leave their room', async () => {
    const token = await tenantToken('slow');
    const slow = await openUpload({ url: node.url, path: '/v2/batch', token, length: 30 * MIB });
    await slow.send('[');
    const answer = await slow.answer;
    expect([answer.status, answer.body]).toEqual([408, expect.stringContaining('CARILLON_BODY_RATE_MIN_BYTES')]);
    await slow.closed;
    const next = await openUpload({ url: node.url, path: '/v2/batch', token, length: 30 * MIB });
    await next.send('{');
    expect((await next.answer).status).toBe(400);
  });
});

async function tenantToken(name: string): Promise<string> {
  const headers = { authorization: `Bearer ${node.adminToken}` };
  await node.call('POST', '/admin/tenants', { headers, body: JSON.stringify({ name }) });
  const response = await node.call('POST', `/admin/tenants/${name}/tokens`, { headers, body: '{}' });
  return ((await response.json()) as { token: string }).token;
}
