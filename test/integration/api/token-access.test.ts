// Who may call what: tokens, roles, tenants kept apart, keys, and what is open to everybody.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureTenant } from '../../../src/postgres/tenants/tenants.js';
import { setEnvironmentAdminToken } from '../../../src/postgres/tenants/tokens.js';
import { startTestNode, TEST_SIGNING_KEYS, type TestNode } from '../../kit/node.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

const as = (token: string | null, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(node.url + path, {
    method,
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const admin = (method: string, path: string, body?: unknown): Promise<Response> =>
  as(node.adminToken, method, path, body);
const json = async <Shape>(response: Response | Promise<Response>): Promise<Shape> =>
  (await (await response).json()) as Shape;
const random = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes));

async function newTenant(name: string): Promise<string> {
  expect((await admin('POST', '/admin/tenants', { name })).status).toBe(201);
  return (await json<{ token: string }>(admin('POST', `/admin/tenants/${name}/tokens`, { label: 'first' }))).token;
}

describe('a caller', () => {
  it.each([
    ['without a token', null, '/v2/keys', 401, /no token/],
    ['with an unknown token', 'nobody-has-this-one', '/v2/keys', 401, /invalid token/],
    ['without a token, even where there is nothing', null, '/v2/nothing', 401, /no token/],
    ['without a token, at the administration', null, '/admin/tenants', 401, /no token/],
  ])('%s is answered with 401', async (_who, token, path, status, text) => {
    const response = await as(token, 'GET', path);
    expect(response.status).toBe(status);
    expect(await json<{ error: string }>(response)).toEqual({ error: expect.stringMatching(text) as string });
  });

  it("with a tenant's token is not let into the administration, nor an administrator into a tenant's work", async () => {
    const tenant = await as(node.token, 'GET', '/admin/tenants');
    expect([tenant.status, await tenant.json()]).toEqual([
      403,
      { error: expect.stringMatching(/administrator/) as string },
    ]);
    const administrator = await as(node.adminToken, 'GET', '/v2/keys');
    expect([administrator.status, await administrator.json()]).toEqual([
      403,
      { error: expect.stringMatching(/tenant/) as string },
    ]);
  });

  it('may give the token in the query', async () => {
    expect((await as(null, 'GET', `/v2/keys?qstash_token=${node.token}`)).status).toBe(200);
    expect((await as(null, 'GET', '/v2/keys?qstash_token=wrong')).status).toBe(401);
    // An administrator's is taken from the header alone: addresses are written down in many places.
    expect((await as(null, 'GET', `/admin/tenants?qstash_token=${node.adminToken}`)).status).toBe(401);
    expect((await as(null, 'GET', `/metrics?qstash_token=${node.adminToken}`)).status).toBe(401);
  });

  it('with another scheme than bearer has no token', async () => {
    const response = await fetch(`${node.url}/v2/keys`, { headers: { authorization: 'Basic dGVzdDp0ZXN0' } });
    expect(response.status).toBe(401);
  });

  it('needs no token to ask whether the node is alive and ready, and what the API is', async () => {
    expect(await json(as(null, 'GET', '/healthz'))).toEqual({ status: 'alive' });
    expect(await json(as(null, 'GET', '/readyz'))).toEqual({ status: expect.stringMatching(/^ready/) as string });
    const document = await json<{ openapi: string; paths: Record<string, Record<string, unknown>> }>(
      as(null, 'GET', '/openapi.json'),
    );
    expect(document.openapi).toBe('3.1.0');
    expect(document.paths['/v2/publish/{destination}']?.post).toMatchObject({
      parameters: expect.arrayContaining([
        expect.objectContaining({ name: 'destination', in: 'path' }) as unknown,
        expect.objectContaining({ name: 'Upstash-Delay', in: 'header' }) as unknown,
      ]) as unknown,
    });
    const paths = ['/v2/schedules/{id}', '/v2/schedules/{id}/next', '/v2/cron/preview', '/v2/batch'];
    for (const path of paths) expect(document.paths).toHaveProperty([path]);
    expect(document.paths).not.toHaveProperty(['/v2/queues']);
  });
});

describe('tenants', () => {
  it('are created and listed by the administrator', async () => {
    await newTenant('acme');
    const tenants = await json<{ name: string }[]>(admin('GET', '/admin/tenants'));
    expect(tenants.map((tenant) => tenant.name)).toEqual(['default', 'acme']);
    const again = await admin('POST', '/admin/tenants', { name: 'acme' });
    expect([again.status, await again.json()]).toEqual([409, { error: 'the tenant "acme" exists already' }]);
    for (const body of [{ name: 'a b' }, { name: '' }, { name: 7 }, {}, [], 'x']) {
      expect((await admin('POST', '/admin/tenants', body)).status).toBe(400);
    }
  });

  it('have many tokens, of which only hashes are kept; a revoked one is refused soon', async () => {
    const token = await newTenant('tokens');
    const second = await json<{ token: string; id: string }>(
      admin('POST', '/admin/tenants/tokens/tokens', { label: 'é' }),
    );
    expect(second.token).not.toBe(token);
    const listed = await (await admin('GET', '/admin/tenants/tokens/tokens')).text();
    expect(listed).not.toContain(token);
    expect((JSON.parse(listed) as { label: string }[]).map((entry) => entry.label)).toEqual(['first', 'é']);
    const rows = await node.database.text('select 1 from tokens where encode(hash, $1) like $2', [
      'escape',
      '%carillon_%',
    ]);
    expect(rows).toEqual([]);

    expect((await as(second.token, 'GET', '/v2/keys')).status).toBe(200);
    expect((await admin('DELETE', `/admin/tenants/tokens/tokens/${second.id}`)).status).toBe(200);
    expect((await admin('DELETE', `/admin/tenants/tokens/tokens/${second.id}`)).status).toBe(404);
    await expect.poll(async () => (await as(second.token, 'GET', '/v2/keys')).status).toBe(401);
    expect((await as(token, 'GET', '/v2/keys')).status).toBe(200);
  });

  it('that do not exist are 404, whatever their name', async () => {
    for (const name of ['nobody', '%00', '%ed%a0%80', '..%2f']) {
      const { status } = await admin('GET', `/admin/tenants/${name}/tokens`);
      expect([400, 404]).toContain(status);
    }
  });

  it('do not see each other: same schedule id, same keys, separate work', async () => {
    const token = await newTenant('other');
    const headers = { 'Upstash-Cron': '0 0 1 1 *', 'Upstash-Schedule-Id': 'same' };
    const publish = (by: string): Promise<Response> =>
      fetch(`${node.url}/v2/publish/${node.sink.url}/tenants`, {
        method: 'POST',
        headers: { authorization: `Bearer ${by}`, 'Carillon-Idempotency-Key': 'same', 'Upstash-Delay': '1h' },
      });
    await node.call('POST', `/v2/schedules/${node.sink.url}/one`, { headers });
    expect((await as(token, 'GET', '/v2/schedules/same')).status).toBe(404);
    expect((await as(token, 'DELETE', '/v2/schedules/same')).status).toBe(404);
    expect((await as(token, 'PATCH', '/v2/schedules/same/pause')).status).toBe(404);
    expect((await as(token, 'POST', '/v2/schedules/same/trigger')).status).toBe(404);
    expect(await json(as(token, 'GET', '/v2/schedules'))).toEqual([]);
    const [mine, theirs] = [await publish(node.token), await publish(token)];
    expect([mine.status, theirs.status]).toEqual([200, 200]);
    const { messageId } = await json<{ messageId: string }>(mine);
    expect((await as(token, 'GET', `/v2/messages/${messageId}`)).status).toBe(404);
    expect((await as(token, 'DELETE', `/v2/messages/${messageId}`)).status).toBe(404);
    expect(await json(as(node.token, 'GET', '/v2/schedules/same'))).toMatchObject({
      destination: `${node.sink.url}/one`,
    });
  });

  it('are made sure of by many nodes at once', async () => {
    const tenant = { name: 'boot', token: 'boot-token-0123456789', currentKey: null, nextKey: null };
    const made = await Promise.all(Array.from({ length: 8 }, () => ensureTenant(node.database, tenant, random)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    await Promise.all(
      Array.from({ length: 8 }, () => setEnvironmentAdminToken(node.database, 'boot-admin-0123456789')),
    );
    await expect(setEnvironmentAdminToken(node.database, tenant.token)).rejects.toThrow(/belongs to somebody else/);
    await expect(ensureTenant(node.database, { ...tenant, name: 'boot2' }, random)).rejects.toThrow(
      /belongs to somebody else/,
    );
    expect((await as(tenant.token, 'GET', '/v2/keys')).status).toBe(200);
  });
});

describe('signing keys', () => {
  it('are the configured ones, and rotate: current becomes what next was', async () => {
    expect(await json(as(node.token, 'GET', '/v2/keys'))).toEqual(TEST_SIGNING_KEYS);
    const rotated = await json<{ current: string; next: string }>(as(node.token, 'POST', '/v2/keys/rotate'));
    expect(rotated.current).toBe(TEST_SIGNING_KEYS.next);
    expect(rotated.next).toMatch(/^sig_[A-Za-z0-9_-]{32}$/);
    expect(await json(as(node.token, 'GET', '/v2/keys'))).toEqual(rotated);
  });
});
