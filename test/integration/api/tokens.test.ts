// Issue 11, A5: tokens are listed, expire and are revoked, administrators' as well as tenants', and the environment's token replaces the one
// of an earlier start.

import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CLOSE } from '../../../src/admin/protocol.js';
import { AdminClient } from '../../kit/admin-client.js';
import { startTestNode, TEST_ADMIN_TOKEN, TEST_TOKEN, type TestNode } from '../../kit/node.js';

interface Token {
  readonly id: string;
  readonly label: string;
  readonly source: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
}

const ADMIN = '/admin/tokens';
const TENANT = '/admin/tenants/default/tokens';

let node: TestNode;
/** Remembers for minutes what it has looked up. */
let slow: TestNode;
beforeAll(async () => {
  [node, slow] = await Promise.all([startTestNode(), startTestNode({ CARILLON_TOKEN_CACHE_MS: 300_000 })]);
});
afterAll(() => Promise.all([node.stop(), slow.stop()]));

const by = (token: string, method: string, path: string, body?: unknown, at = node.url): Promise<Response> =>
  fetch(at + path, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const status = async (token: string, path: string, at = node.url): Promise<number> =>
  (await by(token, 'GET', path, undefined, at)).status;
const list = async (path: string, token: string = TEST_ADMIN_TOKEN): Promise<Token[]> =>
  (await (await by(token, 'GET', path)).json()) as Token[];

async function create(path: string, body: unknown = {}): Promise<Token & { token: string }> {
  const response = await by(TEST_ADMIN_TOKEN, 'POST', path, body);
  expect(response.status).toBe(201);
  return (await response.json()) as Token & { token: string };
}

const opens = (path: string): string => (path === ADMIN ? '/admin/nodes' : '/v2/keys');

describe.each([
  ["an administrator's token", ADMIN],
  ["a tenant's token", TENANT],
])('%s (issue 11, A5)', (_whose, path) => {
  it('is created with a label and listed without its text', async () => {
    const { token, id } = await create(path, { label: 'for é' });
    expect(token).toMatch(/^carillon_[\w-]{32}$/);
    expect(await status(token, opens(path))).toBe(200);
    const found = (await list(path)).find((one) => one.id === id);
    expect(found).toMatchObject({ label: 'for é', source: 'created', expiresAt: null });
    expect(Math.abs(found!.createdAt - Date.now())).toBeLessThan(60_000);
    expect(await (await by(TEST_ADMIN_TOKEN, 'GET', path)).text()).not.toContain(token);
  });

  it('is refused everywhere soon after it was revoked', async () => {
    const { token, id } = await create(path);
    expect(await status(token, opens(path))).toBe(200);
    expect(await (await by(TEST_ADMIN_TOKEN, 'DELETE', `${path}/${id}`)).json()).toEqual({ id });
    expect((await by(TEST_ADMIN_TOKEN, 'DELETE', `${path}/${id}`)).status).toBe(404);
    await expect.poll(() => status(token, opens(path))).toBe(401);
    expect((await list(path)).map((one) => one.id)).not.toContain(id);
  });

  it('ends by itself at the time that was given, also where a node remembers it', async () => {
    const post = (body: unknown): Promise<Response> => by(TEST_ADMIN_TOKEN, 'POST', path, body, slow.url);
    const expiresAt = Date.now() + 500;
    const made = (await (await post({ expiresAt })).json()) as Token & { token: string };
    expect(made.expiresAt).toBe(expiresAt);
    expect(await status(made.token, opens(path), slow.url)).toBe(200);
    await expect.poll(() => status(made.token, opens(path), slow.url), { timeout: 5_000 }).toBe(401);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt - 50);
  });

  it('takes a duration as well, and says what is wrong with others', async () => {
    const { expiresAt, id } = await create(path, { label: 'short', expiresIn: '90d' });
    expect(Math.abs(expiresAt! - Date.now() - 90 * 86_400_000)).toBeLessThan(60_000);
    expect((await list(path)).find((one) => one.id === id)).toMatchObject({ expiresAt });
    const bad: [unknown, RegExp][] = [
      [{ expiresAt: Date.now() - 1_000 }, /expiresAt is .* in the past/],
      [{ expiresAt: 1e300 }, /expiresAt is .* expected/],
      [{ expiresAt: -1 }, /expiresAt/],
      [{ expiresAt: 1.5 }, /expiresAt is 1.5, expected a whole number/],
      [{ expiresAt: '2030-01-01' }, /expiresAt is "2030-01-01", expected a whole number/],
      [{ expiresIn: 'soon' }, /expiresIn/],
      [{ expiresIn: '0s' }, /expiresIn/],
      [{ expiresIn: '99999999999d' }, /expiresIn/],
      [{ expiresIn: '1d', expiresAt: Date.now() + 1e6 }, /both/],
      [{ label: 'x'.repeat(201) }, /label is .* at most 200 characters/],
      [{ label: 'a\nb' }, /label/],
      [{ label: '\ud800' }, /label/],
      [{ expires: '1d' }, /did you mean expiresAt/],
      [[], /the body/],
    ];
    for (const [body, text] of bad) {
      const response = await by(TEST_ADMIN_TOKEN, 'POST', path, body);
      const { error } = (await response.json()) as { error: string };
      expect([response.status, error], JSON.stringify(body)).toEqual([400, expect.stringMatching(text)]);
    }
  });

  it('is not found by what is no id of one', async () => {
    const others = await list(path === ADMIN ? TENANT : ADMIN);
    for (const id of ['x', '%00', '0'.repeat(16), '0'.repeat(900), '%', others[0]!.id]) {
      expect([400, 404], id).toContain((await by(TEST_ADMIN_TOKEN, 'DELETE', `${path}/${id}`)).status);
    }
  });

  it('shows when it was last used, and that costs a write a minute at most', async () => {
    const { token, id } = await create(path);
    const lastUse = async (): Promise<number | null> => (await list(path)).find((one) => one.id === id)!.lastUsedAt;
    expect(await lastUse()).toBeNull();
    const before = Date.now();
    expect(await status(token, opens(path))).toBe(200);
    await expect.poll(lastUse).not.toBeNull();
    const first = await lastUse();
    expect(Math.abs(first! - before)).toBeLessThan(30_000);
    // The cache of tokens is asked anew each 100 ms here.
    const until = Date.now() + 400;
    while (Date.now() < until) await status(token, opens(path));
    expect(await lastUse()).toBe(first);
    await node.database.text("update tokens set last_used_at = now() - interval '61 seconds' where label = $1", ['']);
    await expect
      .poll(async () => {
        await status(token, opens(path));
        return lastUse();
      })
      .toBeGreaterThanOrEqual(first!);
  });
});

describe('tokens (issue 11, A5)', () => {
  it("are the administrators' business: a tenant neither lists, makes nor revokes any", async () => {
    for (const path of [ADMIN, TENANT]) {
      const [{ id }] = (await list(path)) as [Token];
      expect((await by(TEST_TOKEN, 'GET', path)).status).toBe(403);
      expect((await by(TEST_TOKEN, 'POST', path, {})).status).toBe(403);
      expect((await by(TEST_TOKEN, 'DELETE', `${path}/${id}`)).status).toBe(403);
    }
  });

  it('of one owner are bounded in number', async () => {
    const small = await startTestNode({ CARILLON_TOKENS_MAX: 2 });
    try {
      for (const path of [ADMIN, TENANT]) {
        const post = (): Promise<Response> => by(TEST_ADMIN_TOKEN, 'POST', path, {}, small.url);
        expect((await post()).status).toBe(201);
        const refused = await post();
        const { error } = (await refused.json()) as { error: string };
        expect([refused.status, error]).toEqual([400, expect.stringContaining('CARILLON_TOKENS_MAX')]);
      }
    } finally {
      await small.stop();
    }
  });

  it('do not leave a cluster without an administrator: the last valid one is not revoked, others are', async () => {
    const small = await startTestNode();
    try {
      const call = (token: string, method: string, path: string, body?: unknown): Promise<Response> =>
        by(token, method, path, body, small.url);
      const [own] = (await (await call(TEST_ADMIN_TOKEN, 'GET', ADMIN)).json()) as [Token];
      await call(TEST_ADMIN_TOKEN, 'POST', ADMIN, { expiresIn: '1s' });
      await expect
        .poll(async () => {
          const tokens = (await (await call(TEST_ADMIN_TOKEN, 'GET', ADMIN)).json()) as Token[];
          return tokens.filter(({ expiresAt }) => expiresAt === null || expiresAt > Date.now()).length;
        })
        .toBe(1);
      const refused = await call(TEST_ADMIN_TOKEN, 'DELETE', `${ADMIN}/${own.id}`);
      expect([refused.status, await refused.json()]).toEqual([
        409,
        { error: expect.stringMatching(/last .*administrator's token.*create another/) as string },
      ]);
      const other = (await (await call(TEST_ADMIN_TOKEN, 'POST', ADMIN, {})).json()) as Token & { token: string };
      // Two at once that take each other away: one of them stays.
      const both = await Promise.all([
        call(TEST_ADMIN_TOKEN, 'DELETE', `${ADMIN}/${own.id}`),
        call(other.token, 'DELETE', `${ADMIN}/${other.id}`),
      ]);
      expect(both.map((response) => response.status).sort()).toEqual([200, 409]);
    } finally {
      await small.stop();
    }
  });
});

describe("an administrator's websocket (issue 11, A5)", () => {
  const clients: AdminClient[] = [];
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

  it.each([
    ['is revoked', {}],
    ['expires', { expiresIn: '1s' }],
  ])('ends when its token %s', async (how, body) => {
    const made = await create(ADMIN, body);
    const client = new AdminClient(node.url, { token: made.token });
    clients.push(client);
    await client.until('a snapshot', () => true);
    if (how === 'is revoked') await by(TEST_ADMIN_TOKEN, 'DELETE', `${ADMIN}/${made.id}`);
    expect(await client.closed).toMatchObject({ code: CLOSE.unauthorized });
  });
});

describe("the environment's token (issue 11, A5)", () => {
  const cases = [
    ['CARILLON_ADMIN_TOKEN', ADMIN, TEST_ADMIN_TOKEN],
    ['CARILLON_TOKEN', TENANT, TEST_TOKEN],
  ] as const;

  it.each(cases)('%s replaces the one of an earlier start, on nodes that run as well', async (name, path, old) => {
    const first = await startTestNode();
    const next = 'another-token-0123456789';
    const second = await startTestNode({ ...first.config, [name]: next });
    try {
      const admin = name === 'CARILLON_ADMIN_TOKEN' ? next : TEST_ADMIN_TOKEN;
      for (const { url } of [first, second]) {
        await expect.poll(() => status(old, opens(path), url)).toBe(401);
        expect(await status(next, opens(path), url)).toBe(200);
        if (path === ADMIN) {
          await expect.poll(() => status(old, '/metrics', url)).toBe(401);
          const client = new AdminClient(url, { token: old });
          expect(await client.closed).toMatchObject({ code: CLOSE.unauthorized });
        }
      }
      const tokens = (await (await by(admin, 'GET', path, undefined, first.url)).json()) as Token[];
      expect(tokens.map(({ source }) => source)).toEqual(['environment']);
    } finally {
      await second.stop();
      await first.stop();
    }
  });

  it.each(cases)('%s ends when a node starts without it; created ones stay', async (name, path, old) => {
    const alone = await startTestNode();
    try {
      const post = (to: string): Promise<Response> => by(TEST_ADMIN_TOKEN, 'POST', to, { label: 'kept' }, alone.url);
      const admin = ((await (await post(ADMIN)).json()) as { token: string }).token;
      const kept = ((await (await post(path)).json()) as { token: string }).token;
      const again = async (token: string): Promise<void> => {
        await alone.restartNode({ [name]: token });
        expect(await status(kept, opens(path), alone.url)).toBe(200);
      };
      await again(old);
      const listed = async (): Promise<Token[]> =>
        (await (await by(admin, 'GET', path, undefined, alone.url)).json()) as Token[];
      const before = await listed();
      await again(old);
      expect((await listed()).map(({ id, createdAt }) => [id, createdAt])).toEqual(
        before.map(({ id, createdAt }) => [id, createdAt]),
      );
      await again('');
      expect(await status(old, opens(path), alone.url)).toBe(401);
      expect((await listed()).map(({ source }) => source)).not.toContain('environment');
      // One that was created may become the environment's; then it does not expire.
      await again(kept);
      expect((await listed()).filter(({ source }) => source === 'environment')).toHaveLength(1);
      await alone.restartNode({ [name]: '' });
      expect(await status(kept, opens(path), alone.url)).toBe(401);
    } finally {
      await alone.stop();
    }
  });

  it('of a version before this one is known as such: it ends with the next start that brings another', async () => {
    const alone = await startTestNode();
    try {
      // As version 2 of the schema kept them: one from each start, told from others by their label alone.
      await alone.database.text(
        'alter table tokens drop column source, drop column expires_at, drop column last_used_at',
      );
      await alone.database.text("update tokens set label = 'from the configuration'");
      const folder = new URL('../../../src/postgres/migrations/', import.meta.url);
      await alone.database.text(readFileSync(new URL('0003_tokens.sql', folder), 'utf8'));
      const next = { CARILLON_ADMIN_TOKEN: 'another-token-0123456789', CARILLON_TOKEN: 'third-token-0123456789' };
      await alone.restartNode(next);
      expect(await status(TEST_ADMIN_TOKEN, '/admin/nodes', alone.url)).toBe(401);
      expect(await status(TEST_TOKEN, '/v2/keys', alone.url)).toBe(401);
    } finally {
      await alone.stop();
    }
  });
});
