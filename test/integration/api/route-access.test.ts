// Issue 11, A1 and must-show 2: who may call is decided by the route that was matched. Every route of the real app is called by everybody, in
// several spellings of its path, over real sockets; the table of what came of it is printed.

import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildApp } from '../../../src/api/app.js';
import type { ApiServices } from '../../../src/api/services.js';
import { configWith } from '../../../src/config.js';
import type { Intake } from '../../../src/intake/intake.js';
import type { ReadPool } from '../../../src/postgres/reads.js';
import { NO_FIGURES } from '../../kit/figures.js';
import { startTestNode, type TestNode } from '../../kit/node.js';
import { type RawAnswer, sendRaw } from '../../kit/raw-request.js';
import { NO_CLUSTER } from '../../kit/records.js';
import { newTenant, publish, untilState } from '../../kit/work.js';
import { processTime } from '../../../src/time/process-time.js';

interface Route {
  readonly method: string;
  readonly url: string;
  readonly access: string;
}

const SCHEDULE = 'first-tenants-schedule';
const OPEN = ['/healthz', '/readyz', '/openapi.json', '/admin', '/admin/', '/admin/assets/*'];
const isFile = (url: string): boolean => url.startsWith('/admin/:file');

let node: TestNode;
let otherToken: string;
let routes: Route[];
/** What path parameters stand for: things of the first tenant. */
let parameters: Record<string, string>;

beforeAll(async () => {
  node = await startTestNode();
  otherToken = await newTenant(node, 'other');
  routes = await routesOf(appWith(node));
  node.sink.answer(() => ({ status: 500 }));
  const dead = await publish(node, '/dead', { headers: { 'Upstash-Retries': '0' } });
  await untilState(node, dead, 'failed');
  const later = await publish(node, '/later', { headers: { 'Upstash-Delay': '1h' } });
  const headers = { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': SCHEDULE };
  expect((await node.call('POST', `/v2/schedules/${node.sink.url}/x`, { headers })).status).toBe(200);
  const { messages } = (await (await node.call('GET', '/v2/dlq')).json()) as { messages: { dlqId: string }[] };
  parameters = { id: SCHEDULE, messageId: `msg_${later}`, dlqId: messages[0]!.dlqId, name: 'default' };
});
afterAll(() => node.stop());

/** The app as a node has it, on nothing: it is asked for its routes only. */
function appWith({ database }: Pick<TestNode, 'database'>): FastifyInstance {
  const services: ApiServices = {
    config: configWith({}),
    clock: { nowMs: () => Date.now() },
    time: processTime,
    random: (bytes) => randomBytes(bytes),
    database,
    intake: {} as Intake,
    logger: pino({ level: 'silent' }),
    cluster: NO_CLUSTER,
    health: { ready: () => ({ ok: true }), leaving: () => false },
    metrics: NO_FIGURES,
    reads: {} as ReadPool,
  };
  return buildApp(services);
}

async function routesOf(app: FastifyInstance): Promise<Route[]> {
  const found: Route[] = [];
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    const access = (config as { access?: string } | undefined)?.access ?? 'not declared';
    for (const each of [method].flat()) found.push({ method: each, url, access });
  });
  await app.ready();
  await app.close();
  // What takes things away comes last, so that the others find them.
  return found.sort((one, two) => Number(one.method === 'DELETE') - Number(two.method === 'DELETE'));
}

function pathOf({ url }: Route): string {
  if (isFile(url)) return '/admin/favicon.ico';
  return url.replace(/:(\w+)/g, (_, name: string) => parameters[name] ?? 'unknown').replace('*', 'anything');
}

const SPELLINGS: Readonly<Record<string, (path: string) => string>> = {
  plain: (path) => path,
  'encoded letter': (path) => `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
  'upper case': (path) => path.replace(/^\/[a-z0-9]+/, (segment) => segment.toUpperCase()),
  'absolute form': (path) => `HTTP://somewhere.example:80${path}`,
  fragment: (path) => `${path}#/healthz`,
  'doubled slash': (path) => `/${path}`,
};
const MORE_SPELLINGS: readonly ((path: string) => string)[] = [
  (path) => `/healthz/..${path}`,
  (path) => `/.${path}`,
  (path) => `/%2e%2e${path}`,
  (path) => `/healthz/%2e%2e${path}`,
  (path) => path.replace(/^\/(.)/, (_, letter: string) => `/%25${letter.charCodeAt(0).toString(16)}`),
  (path) => `/%2F${path.slice(1)}`,
  (path) => path.replace('/', '/\\'),
  (path) => `${path};/healthz`,
  (path) => `${path}%23`,
  (path) => `${path}%3F`,
  (path) => `${path}/`,
  (path) => `${path}%00`,
  (path) => `${path}?/healthz`,
  (path) => `${path}#?healthz`,
  (path) => `http://healthz${path}`,
  (path) => `http://x?${path}`,
  // Every byte of it encoded.
  (path) => path.replace(/[^/]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`),
  (path) => path.replace(/[^/]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`),
];
/** Not even targets: HTTP ends with them. */
const NO_TARGETS: readonly ((path: string) => string)[] = [
  (path) => `\\${path.slice(1)}`,
  (path) => `;${path}`,
  (path) => `https:/${path}`,
  (path) => `http://user@somewhere.example#${path}`,
  (path) => path.slice(1),
];

const send = (route: Route, target: string, token: string | null): Promise<RawAnswer> => {
  const body = ['POST', 'PUT', 'PATCH'].includes(route.method) ? '{"name":"made-by-this-call"}' : '';
  return sendRaw(node.url, route.method, target, { token, body });
};

/** What is answered without a handler: nobody came further than the router, or the check of tokens. */
const REFUSALS: Readonly<Record<number, RegExp>> = {
  400: /^\{"error":".*is not a valid url component/,
  401: /^\{"error":"no token: /,
  404: /^\{"error":"there is no [A-Z]+ .* in this API"\}$/,
};
function expectRefusal({ status, text }: RawAnswer, what: string): void {
  expect([400, 401, 404], what).toContain(status);
  if (!what.startsWith('HEAD')) expect(text, what).toMatch(REFUSALS[status]!);
}

const isOpen = ({ access }: Route): boolean => access === 'open';
const shown = (answers: readonly RawAnswer[]): string => answers.map(({ status }) => status).join(' ');

describe('every route (issue 11, A1)', () => {
  it('says who may call it, and only those that hold nothing are open', () => {
    expect(routes.length).toBeGreaterThan(60);
    expect(routes.filter(({ access }) => access === 'not declared')).toEqual([]);
    for (const { url, access } of routes) {
      const expected = OPEN.includes(url) || isFile(url) ? 'open' : url === '/metrics' ? 'metrics' : url.split('/')[1];
      expect(access, url).toBe(expected === 'v2' || expected === 'llm' ? 'tenant' : expected);
    }
  });

  it('lets the same callers in however its path is spelled', async () => {
    const table = new Map<string, readonly string[]>();
    for (const route of routes) {
      const path = pathOf(route);
      const targets = Object.values(SPELLINGS).map((spelled) => spelled(path));
      const by = (token: string | null): Promise<RawAnswer[]> =>
        Promise.all(targets.map((target) => send(route, target, token)));

      const nobody = await by(null);
      const other = await by(otherToken);
      const admin = await by(node.adminToken);
      const tenant = await by(node.token);
      table.set(`${route.method} ${route.url}`, [nobody, tenant, other, admin].map(shown));

      targets.forEach((target, at) => {
        const what = `${route.method} ${target}`;
        if (!isOpen(route)) expectRefusal(nobody[at]!, what);
        if (['admin', 'metrics'].includes(route.access)) {
          for (const { status } of [tenant[at]!, other[at]!]) expect([403, 404], what).toContain(status);
        }
        if (route.access === 'tenant') expect([403, 404], what).toContain(admin[at]!.status);
        for (const { status } of [nobody, tenant, other, admin].map((answers) => answers[at]!)) {
          expect(status, what).not.toBe(500);
        }
        const { status, text } = other[at]!;
        // What was not found may be named again.
        const ids = status >= 400 && status < 500 ? [] : Object.values(parameters).filter((id) => id !== 'default');
        for (const id of ids) expect(text, what).not.toContain(id);
      });
    }
    process.stdout.write(`Statuses by caller, for: ${Object.keys(SPELLINGS).join(', ')}\n${written(table)}`);
  });

  it('refuses callers without a token in stranger spellings as well', async () => {
    for (const route of routes.filter((each) => !isOpen(each))) {
      const targets = MORE_SPELLINGS.map((spelled) => spelled(pathOf(route)));
      const answers = await Promise.all(targets.map((target) => send(route, target, null)));
      answers.forEach((answer, at) => expectRefusal(answer, `${route.method} ${targets[at]}`));
    }
  });

  it('that has a destination in its path takes no message without a token, whatever the spelling', async () => {
    const { url } = node.sink;
    const before = await node.database.text<{ count: number }>('select count(*)::integer as count from messages');
    for (const path of [`/v2/publish/${url}/a`, `/v2/schedules/${url}/a`, `/v2/enqueue/q/${url}/a`, '/v2/batch']) {
      for (const spelled of [...Object.values(SPELLINGS), ...MORE_SPELLINGS, ...NO_TARGETS]) {
        const body = JSON.stringify([{ destination: `${url}/a` }]);
        const { status } = await sendRaw(node.url, 'POST', spelled(path), { body });
        expect([400, 401, 404], spelled(path)).toContain(status);
        const tokened = await sendRaw(node.url, 'POST', spelled(path), { token: node.adminToken, body });
        expect([400, 403, 404], spelled(path)).toContain(tokened.status);
      }
    }
    const after = await node.database.text<{ count: number }>('select count(*)::integer as count from messages');
    expect(after).toEqual(before);
    expect(await node.database.text('select 1 from messages where tenant_id = 0')).toEqual([]);
  });
});

describe('a path of the administration that is no route (issue 11, A1)', () => {
  it.each([
    ['OPTIONS', '/admin/tenants'],
    ['TRACE', '/admin/tenants'],
    ['PUT', '/%61dmin/tenants'],
    ['PUT', '/v2/keys'],
    ['GET', '/%76%32/nothing'],
    ['DELETE', '/%6detrics'],
    ['GET', '/metrics/'],
  ])('is not told from another one without a token: %s %s', async (method, path) => {
    expect(await sendRaw(node.url, method, path)).toMatchObject({ status: 401 });
  });

  it('is answered with what the path takes, to those with a token, however it is spelled', async () => {
    for (const path of ['/admin/tenants', '/%61dmin/tenants', '/admin/tenants#x', 'http://host/admin/tenants']) {
      const answer = await sendRaw(node.url, 'PUT', path, { token: node.adminToken });
      expect([answer.status, answer.text], path).toEqual([405, expect.stringContaining('only GET, HEAD, POST')]);
    }
  });

  it('opens no websocket: only /admin/ws does, which asks for a token before it says anything', async () => {
    for (const target of ['/%61dmin/ws', '/ADMIN/ws', '//admin/ws', '/admin/ws#', '/admin/ws/', 'http://x/admin/ws']) {
      const socket = connect(Number(new URL(node.url).port), '127.0.0.1');
      const answer = new Promise<string>((resolve) => socket.once('data', (data: Buffer) => resolve(data.toString())));
      socket.write(
        `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
      expect(await answer, target).toMatch(/^HTTP\/1\.1 (?:401|404) /);
      socket.destroy();
    }
  });
});

describe('a route that does not declare who may call it (issue 11, A1)', () => {
  it('does not register: not on the app, not within a plugin, not as a HEAD route', async () => {
    const app = appWith(node);
    const handler = (): string => 'reached';
    const route = { method: 'GET', url: '/forgotten', handler } as unknown as RouteOptions;
    expect(() => app.route(route)).toThrow(/GET \/forgotten does not declare who may call it/);
    await app.close();

    const nested = appWith(node);
    void nested.register(async (scope) => {
      await Promise.resolve();
      scope.route({ ...route, method: ['HEAD', 'OPTIONS'] });
    });
    await expect(nested.ready()).rejects.toThrow(/HEAD, OPTIONS \/forgotten does not declare who may call it/);
    await nested.close();

    const wrong = appWith(node);
    const config = { access: 'everybody' } as unknown as NonNullable<RouteOptions['config']>;
    expect(() => wrong.route({ ...route, config })).toThrow(/GET \/forgotten does not declare who may call it/);
    await wrong.close();
  });

  it('that reads the tenant of a request without one fails, and gets no tenant 0', async () => {
    const app = appWith(node);
    app.get('/reads-the-tenant', { config: { access: 'open' } }, (request) => ({ tenant: request.tenantId }));
    const { statusCode, body } = await app.inject('/reads-the-tenant');
    expect([statusCode, body]).toEqual([500, expect.not.stringContaining('tenant') as string]);
    await app.close();
  });
});

/** One line for all methods of a path that are answered alike. */
function written(table: ReadonlyMap<string, readonly string[]>): string {
  const merged = new Map<string, string[]>();
  for (const [name, cells] of table) {
    const [method = '', url = ''] = name.split(' ');
    const key = [url, ...cells].join('|');
    merged.set(key, [...(merged.get(key) ?? []), method]);
  }
  const lines = [...merged].map(([key, methods]) => {
    const [url = '', ...cells] = key.split('|');
    return [`${methods.join(',')} ${url}`, ...cells];
  });
  const rows = [['route', 'nobody', 'tenant', 'other', 'admin'], ...lines];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => `${row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')}\n`).join('');
}
