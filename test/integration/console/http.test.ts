// What the console asks of the API beside its websocket: the page itself, acting for a tenant, dead letters in groups, runs by destination.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsolePage } from '../../../src/admin/page.js';
import { startTestNode, TEST_ADMIN_TOKEN, TEST_TOKEN, type TestNode } from '../../kit/node.js';
import { newTenant, publish, untilState } from '../../kit/work.js';

let node: TestNode;
beforeAll(async () => {
  node = await startTestNode();
});
afterAll(() => node.stop());

const asAdmin = (headers: Record<string, string> = {}): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${TEST_ADMIN_TOKEN}`, ...headers },
});

describe('an administrator', () => {
  it('acts for a tenant by naming it, and for nobody otherwise', async () => {
    const token = await newTenant(node, 'acme');
    const created = await node.call('POST', `/v2/publish/${node.sink.url}/for-acme`, {
      ...asAdmin({ 'Carillon-Tenant': 'acme', 'Upstash-Delay': '1h' }),
    });
    expect(created.status).toBe(200);
    const { messageId } = (await created.json()) as { messageId: string };
    const own = { headers: { authorization: `Bearer ${token}` } };
    expect((await node.call('GET', `/v2/messages/${messageId}`, own)).status).toBe(200);
    expect((await node.call('GET', `/v2/messages/${messageId}`)).status).toBe(404);
    const forAcme = asAdmin({ 'Carillon-Tenant': 'acme' });
    const message = (await (await node.call('GET', `/v2/messages/${messageId}`, forAcme)).json()) as object;
    expect(JSON.stringify(message).toLowerCase()).not.toContain('carillon-tenant');
    expect((await node.call('GET', '/v2/runs', asAdmin())).status).toBe(403);
    expect((await node.call('GET', '/v2/runs', asAdmin({ 'Carillon-Tenant': 'nobody' }))).status).toBe(404);
    expect((await node.call('GET', '/v2/runs', asAdmin({ 'Carillon-Tenant': '' }))).status).toBe(400);
    const asTenant = { headers: { 'Carillon-Tenant': 'acme' } };
    expect((await node.call('GET', '/v2/runs', asTenant)).status).toBe(403);
  });

  it('sees dead letters by destination and error, and has a group sent again', async () => {
    node.sink.answer(({ path: to }) => (to === '/fine' ? {} : { status: to === '/gone' ? 410 : 500 }));
    const headers = { 'Upstash-Retries': '0' };
    const ids = await Promise.all(['/broken', '/broken', '/gone'].map((to) => publish(node, to, { headers })));
    await Promise.all(ids.map((id) => untilState(node, id, 'failed')));
    const groups = async (query: string): Promise<Response> => node.call('GET', `/admin/dlq/groups${query}`, asAdmin());
    const found = (await (await groups('?tenant=default')).json()) as { groups: Record<string, unknown>[] };
    expect(found).toMatchObject({ counted: 3, complete: true });
    const shown = found.groups.map(({ url, responseStatus, count }) => [url, responseStatus, count]);
    expect(shown).toEqual([
      [`${node.sink.url}/broken`, 500, 2],
      [`${node.sink.url}/gone`, 410, 1],
    ]);
    const query = `url=${encodeURIComponent(`${node.sink.url}/broken`)}&responseStatus=500`;
    node.sink.answer(() => ({}));
    const retried = await node.call('POST', `/v2/dlq/retry?${query}`, asAdmin({ 'Carillon-Tenant': 'default' }));
    expect(((await retried.json()) as { responses: unknown[] }).responses).toHaveLength(2);
    expect(await (await groups('?tenant=default&count=1')).json()).toMatchObject({ counted: 1 });
    expect((await groups('')).status).toBe(400);
    expect((await groups('?tenant=nobody')).status).toBe(404);
    expect((await groups('?tenant=default&count=0')).status).toBe(400);
    const asTenant = { headers: { authorization: `Bearer ${TEST_TOKEN}` } };
    expect((await node.call('GET', '/admin/dlq/groups?tenant=default', asTenant)).status).toBe(403);
  });
});

describe('GET /v2/runs', () => {
  it('finds runs by where they went', async () => {
    const id = await publish(node, '/found');
    await untilState(node, id, 'delivered');
    const idsOf = async (query: string): Promise<string[]> => {
      const { runs } = (await (await node.call('GET', `/v2/runs?${query}`)).json()) as {
        runs: { messageId: string }[];
      };
      return runs.map(({ messageId }) => messageId.slice(4));
    };
    expect(await idsOf(`url=${encodeURIComponent(`${node.sink.url}/found`)}`)).toEqual([id]);
    expect(await idsOf('host=LOCALHOST,127.0.0.1&state=delivered')).toContain(id);
    expect(await idsOf('host=elsewhere.example')).toEqual([]);
  });
});

describe('the page', () => {
  it('is served to anybody, from memory, and says so where it was not built', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'page-'));
    const page = new ConsolePage(folder);
    expect(await page.find('')).toBeNull();
    await mkdir(path.join(folder, 'assets'));
    await writeFile(path.join(folder, 'assets', 'index-abc.js'), 'let x = 1;'.repeat(100));
    await writeFile(path.join(folder, 'secret.key'), 'x');
    await writeFile(path.join(folder, 'index.html'), '<!doctype html>');
    const index = await page.find('');
    expect(index).toMatchObject({ mediaType: 'text/html; charset=utf-8', isImmutable: false });
    const script = await page.find('assets/index-abc.js');
    expect(script).toMatchObject({ mediaType: 'text/javascript; charset=utf-8', isImmutable: true });
    expect(gunzipSync(script!.gzipped!)).toEqual(script!.body);
    for (const name of ['secret.key', '../package.json', 'assets/../index.html', 'assets']) {
      expect(await page.find(name), name).toBeNull();
    }
    await rm(folder, { recursive: true });
  });

  it('needs no token, and everything else below /admin does', async () => {
    const get = (to: string): Promise<Response> => fetch(`${node.url}${to}`);
    const index = await get('/admin');
    // It may have been built here or not.
    if (index.status === 200) expect(index.headers.get('content-security-policy')).toContain("default-src 'none'");
    else expect(await index.text()).toMatch(/^The console is not built here: run "npm run build"/);
    expect((await get('/admin/assets/none.js')).status).toBe(404);
    expect((await get('/admin/assets/..%2f..%2fpackage.json')).status).toBe(404);
    for (const to of [
      '/admin/nodes',
      '/admin/tenants',
      '/admin/dlq/groups',
      '/admin/anything',
      '/admin/ws',
      '/v2/runs',
    ]) {
      expect((await get(to)).status, to).toBe(401);
    }
  });
});
