// The console page in a real browser, on two nodes: what people see of the cluster and do to their work. A page that complains fails its test.

import { gzipSync } from 'node:zlib';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chromiumIfThere, launch, openConsole, type WatchedPage } from '../kit/browser.js';
import { nodeProcess, type TestNodeProcess } from '../kit/test-node-process.js';
import { startTestNode, TEST_ADMIN_TOKEN, TEST_SHARDS, TEST_TOKEN, type TestNode } from '../kit/node.js';

const PAGE_MAX_BYTES = 200_000;
const SECOND_MS = 1_000;
const poll = { timeout: 10_000, interval: 20 };

const program = await chromiumIfThere();

let first: TestNode;
let second: TestNodeProcess;
let browser: Browser;
const ended: (() => Promise<unknown>)[] = [];
let watched: WatchedPage;
let page: Page;

describe.skipIf(program === null)('the console', () => {
  beforeAll(async () => {
    const times = { CARILLON_JOIN_GRACE_MS: 100, CARILLON_LEASE_MS: 2_000, CARILLON_HEARTBEAT_MS: 250 };
    const starting = launch(program ?? '');
    first = await startTestNode({ ...times, CARILLON_NODE_NAME: 'first' });
    ended.push(() => first.stop());
    const { CARILLON_DATABASE_URL, CARILLON_REDIS_URL, CARILLON_REDIS_PREFIX } = first.config;
    const stores = { CARILLON_DATABASE_URL, CARILLON_REDIS_URL, CARILLON_REDIS_PREFIX };
    second = await nodeProcess({ ...times, ...stores, CARILLON_NODE_NAME: 'second' });
    ended.push(() => second.stop());
    await second.start();
    browser = await starting;
    ended.push(() => browser.close());
    watched = await openConsole(browser, first.url, TEST_ADMIN_TOKEN);
    ({ page } = watched);
  }, 120_000);
  afterAll(async () => {
    for (const end of ended.reverse()) await end();
  });
  afterEach(() => {
    expect(watched.complaints).toEqual([]);
    expect(watched.outside).toEqual([]);
  });

  const go = (hash: string): Promise<unknown> => page.goto(`${first.url}/admin#/${hash}`);
  const cells = (selector = ''): Locator => page.locator(`.cell${selector}`);
  const shared = async (): Promise<void> => {
    await expect.poll(() => cells('[data-owner=first][data-state=owned]').count(), poll).toBe(TEST_SHARDS / 2);
    await expect.poll(() => cells('[data-owner=second][data-state=owned]').count(), poll).toBe(TEST_SHARDS / 2);
  };

  describe('of the cluster', () => {
    it('shows the nodes and every shard with its owner at once', async () => {
      await go('cluster');
      await shared();
      const startedAtMs = performance.now();
      await page.reload();
      await cells('[data-state=owned]')
        .nth(TEST_SHARDS - 1)
        .waitFor();
      // A third of a second on a quiet machine, the page's loading included.
      expect(performance.now() - startedAtMs).toBeLessThan(4 * SECOND_MS);
      expect(await page.locator('tr[data-node] strong').allTextContents()).toEqual(['first', 'second']);
    });

    it('shows a kill within a second of its being known, and each shard on its way', async () => {
      await shared();
      const seen = page.evaluate<string[]>(WATCH_CELLS);
      await second.kill9();
      await page.locator('tr[data-node=second].suspect').waitFor();
      await expect.poll(members, poll).toEqual(['first']);
      const knownAtMs = performance.now();
      await expect.poll(() => cells('[data-owner=second][data-state=owned]').count(), poll).toBe(0);
      expect(performance.now() - knownAtMs).toBeLessThan(SECOND_MS);
      await expect.poll(() => cells('[data-owner=first][data-state=owned]').count(), poll).toBe(TEST_SHARDS);
      await page.locator('.feed li[data-kind=lapsed]').first().waitFor();
      await second.start();
      await shared();
      await page.evaluate(`document.dispatchEvent(new Event('seen'))`);
      const states = await seen;
      // A move may be over before the node tells of it: the page then plays it whole.
      expect(states.some((state) => state === 'orphaned' || state === 'moving' || state === 'hop')).toBe(true);
      expect(await page.locator('.feed li[data-kind=moved]').count()).toBeGreaterThan(0);
    }, 40_000);

    it('can be walked through by keys, and says what each shard is', async () => {
      await cells('[tabindex="0"]').focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      expect(await page.evaluate(`document.activeElement.getAttribute('aria-label')`)).toMatch(
        /^Shard 2: owned by \w+, epoch \d+$/,
      );
      expect(await page.locator('.map-told').textContent()).toContain('Shard 2');
    });
  });

  describe('of schedules', () => {
    it('makes one by typing, with its next ten times and what daylight saving does to them', async () => {
      watched.expect({ path: /\/v2\/cron\/preview$/, status: 400 });
      await page.keyboard.press('g');
      await page.keyboard.press('s');
      await page.getByRole('link', { name: 'New schedule' }).click();
      await page.getByLabel('Expression').pressSequentially('30 25', { delay: 5 });
      await page
        .getByText('cron', { exact: false })
        .locator('xpath=ancestor-or-self::p[contains(@class, "notice")]')
        .waitFor();
      await page.getByLabel('Expression').fill('30 2 * 3 SUN');
      await page.getByLabel('Zone').fill('America/New_York');
      const rows = page.locator('.preview tbody tr');
      await expect.poll(() => rows.count(), poll).toBe(10);
      await expect.poll(() => page.locator('.preview tr[data-dst=gap]').count(), poll).toBeGreaterThan(0);
      expect(await page.locator('.preview tr[data-dst=gap]').first().textContent()).toMatch(
        /07:00.*03:00 -04:00skipped by the clock/,
      );
      await page.getByLabel('Destination').fill(`${first.sink.url}/typed`);
      await page.getByLabel('Id', { exact: true }).fill('typed');
      await page.getByLabel('Body').fill('{"by": "hand ✓"}');
      await page.getByLabel('Headers').fill('Content-Type: application/json\nX-Said: grüß dich');
      await page.getByRole('button', { name: 'Create it' }).click();
      await page.getByRole('heading', { name: 'typed' }).waitFor();
      const made = (await (await first.call('GET', '/v2/schedules/typed')).json()) as Record<string, unknown>;
      expect(made).toMatchObject({
        cron: '30 2 * 3 SUN',
        timeZone: 'America/New_York',
        destination: `${first.sink.url}/typed`,
        body: '{"by": "hand ✓"}',
        header: { 'Content-Type': ['application/json'], 'X-Said': ['grüß dich'] },
      });
    });

    it('says what pausing does before it does it, and edits without losing what it cannot see', async () => {
      await create(
        'secret',
        '0 0 1 1 *',
        '/secret',
        { 'Upstash-Redact-Fields': 'body', 'Upstash-Callback': `${first.sink.url}/cb` },
        'hidden',
      );
      await go('schedules/secret');
      await page.getByRole('button', { name: 'Pause' }).click();
      const dialog = page.getByRole('dialog');
      expect(await dialog.textContent()).toContain('do not happen');
      await page.keyboard.press('Escape');
      expect(await page.evaluate('document.activeElement.textContent')).toContain('Pause');
      await page.getByRole('button', { name: 'Pause' }).click();
      await dialog.getByRole('button', { name: 'Pause it' }).click();
      await page.locator('.title .state', { hasText: 'paused' }).waitFor();
      await page.getByRole('link', { name: 'Edit' }).click();
      await page.getByLabel('Expression').fill('0 1 1 1 *');
      await page.getByRole('button', { name: 'Save it' }).click();
      await page.locator('.facts dd', { hasText: '0 1 1 1 *' }).waitFor();
      await page.getByRole('button', { name: 'Run now' }).click();
      await dialog.getByRole('button', { name: 'Run it now' }).click();
      const [call] = await first.sink.waitFor(1, ({ path: called }) => called === '/secret');
      expect(call?.body.toString()).toBe('hidden');
    });

    it('finds them by the beginning of their ids, a page at a time', async () => {
      await Promise.all(
        Array.from({ length: 60 }, (_, n) => create(`many-${String(n).padStart(2, '0')}`, '0 0 1 1 *', '/many')),
      );
      await go('schedules');
      await page.getByRole('searchbox').fill('many-');
      await expect.poll(() => page.locator('tr[data-schedule^=many-]').count(), poll).toBe(50);
      await page.getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => page.locator('tr[data-schedule^=many-]').count(), poll).toBe(10);
      await page.getByRole('searchbox').fill('many-07');
      await expect.poll(() => page.locator('tr[data-schedule]').count(), poll).toBe(1);
      expect(page.url()).toContain('q=many-07');
    });
  });

  describe('of why', () => {
    /** What the page says of a moment: the verdict, and the sentence. */
    const explained = async (id: string, atMs: number): Promise<string> => {
      await go(`schedules/${id}?at=${encodeURIComponent(new Date(atMs).toISOString())}`);
      const verdict = page.locator('.verdict');
      await verdict.waitFor();
      return `${(await verdict.getAttribute('data-verdict')) ?? ''}: ${(await verdict.textContent()) ?? ''}`;
    };

    it('explains what ran, was paused, left out, not there yet, and is no time', async () => {
      const madeAtMs = Date.now();
      await create('every-second', '* * * * * *', '/quick');
      await create('overlapping', '* * * * * *', '/held', { 'Carillon-Overlap': 'skip' });
      let release = (): void => undefined;
      const held = new Promise<object>((resolve) => (release = () => resolve({})));
      first.sink.answer(({ path: called }) => (called === '/held' ? held : {}));
      const [ran] = await first.sink.waitFor(2, ({ path: called }) => called === '/quick');
      const leftOut = await skippedRun('overlapping');
      await first.call('POST', '/v2/schedules/every-second/pause');
      const pausedAtMs = Date.now();
      release();
      await expect.poll(() => Date.now() - pausedAtMs, poll).toBeGreaterThan(2_500);

      expect(await explained('every-second', Date.parse(ran?.occurrence ?? ''))).toMatch(/^ran(-late)?: /);
      expect(await page.getByRole('link', { name: 'Its message' }).count()).toBe(1);
      expect(await explained('every-second', pausedAtMs + 1_500)).toMatch(/^paused: /);
      expect(await explained('overlapping', Date.parse(leftOut))).toMatch(/^skipped: /);
      expect(await explained('every-second', madeAtMs - 60_000)).toMatch(/^not-created-yet: /);
      expect(await explained('typed', Date.now() + 5_000)).toMatch(/^not-a-time: /);
    });

    it('explains what one picks on the line', async () => {
      await go('schedules/every-second');
      await page.locator('.dot.good').first().click();
      await page.locator('.verdict[data-verdict^=ran]').waitFor();
      expect(page.url()).toContain('at=');
    });
  });

  describe('of messages', () => {
    it('retries a dead letter, a group at a time, and shows what became of it', async () => {
      first.sink.answer(() => ({ status: 500, body: '{"why": "out of order"}' }));
      for (let n = 0; n < 3; n += 1) await publish('/broken', { 'Upstash-Retries': '0' }, `{"order": ${n}}`);
      await expect.poll(deadLetters, poll).toBe(3);
      await go('letters');
      const group = page.locator(`tr[data-destination="${first.sink.url}/broken"]`);
      await expect
        .poll(
          async () =>
            await group
              .locator('.share span')
              .textContent()
              .catch(() => ''),
          poll,
        )
        .toBe('3');
      first.sink.answer(() => ({}));
      await group.getByRole('button', { name: 'Send again' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Send again' }).click();
      await page.getByText('No dead letters').waitFor();
      await expect.poll(() => first.sink.calls.filter(({ path: called }) => called === '/broken').length, poll).toBe(6);

      await go(`messages?to=${encodeURIComponent(`${first.sink.url}/broken`)}&state=delivered`);
      await expect.poll(() => page.locator('main tbody tr').count(), poll).toBe(3);
      await page.locator('main tbody tr a').first().click();
      await page.getByText('the destination answered 200').waitFor();
      expect(await page.locator('pre').allTextContents()).toEqual(
        expect.arrayContaining([expect.stringMatching(/"order": \d/)]),
      );
    });

    it('shows the text of the API when it refuses', async () => {
      watched.expect({ path: /\/v2\/runs\/msg_nonsense$/, status: 404 });
      await go('messages/msg_nonsense');
      await page.getByRole('alert').getByText('there is no run "msg_nonsense"').waitFor();
    });
  });

  describe('in general', () => {
    it('keeps the token in this tab and out of addresses, and lets nobody in with a wrong one', async () => {
      expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(TEST_ADMIN_TOKEN);
      expect(page.url()).not.toContain(TEST_ADMIN_TOKEN);
      const other = await page.context().newPage();
      await other.goto(`${first.url}/admin#/schedules`);
      await other.getByLabel('Token').fill('wrong-token-123');
      await other.keyboard.press('Enter');
      await other.getByRole('alert').getByText('invalid token').waitFor();
      await other.close();
    });

    it('shows a tenant its own work and no cluster', async () => {
      const tenant = await openConsole(browser, first.url, TEST_TOKEN);
      tenant.expect({ path: /\/admin\/tenants$/, status: 403 });
      await tenant.page.getByRole('heading', { name: 'Schedules' }).waitFor();
      expect(await tenant.page.getByRole('link', { name: 'Cluster' }).count()).toBe(0);
      await tenant.page.goto(`${first.url}/admin#/schedules?q=typ`);
      await tenant.page.locator('tr[data-schedule=typed]').waitFor();
      await tenant.page.context().close();
    });

    it('can be reached by Tab: first the content, then the places', async () => {
      await go('stores');
      await page.getByRole('heading', { name: 'Redis' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'Redis' }).waitFor();
      const reached: string[] = [];
      for (let n = 0; n < 4; n += 1) {
        await page.keyboard.press('Tab');
        reached.push(await page.evaluate<string>('document.activeElement.textContent.trim()'));
      }
      expect(reached).toEqual(['Skip to the content', 'Carillon', 'Cluster', 'Schedules']);
    });
  });

  const deadLetters = async (): Promise<number> => {
    const answer = await first.call('GET', '/v2/dlq');
    return ((await answer.json()) as { messages: unknown[] }).messages.length;
  };
  const skippedRun = async (schedule: string): Promise<string> => {
    const read = async (): Promise<string> => {
      const answer = await first.call('GET', `/v2/runs?schedule=${schedule}&state=skipped&count=1`);
      return ((await answer.json()) as { runs: { occurrence: string }[] }).runs[0]?.occurrence ?? '';
    };
    await expect.poll(read, poll).not.toBe('');
    return read();
  };
  const members = async (): Promise<string[]> => {
    const headers = { authorization: `Bearer ${TEST_ADMIN_TOKEN}` };
    const { nodes } = (await (await first.call('GET', '/admin/nodes', { headers })).json()) as {
      nodes: { name: string }[];
    };
    return nodes.map(({ name }) => name);
  };
  const create = async (
    id: string,
    cron: string,
    to: string,
    headers: Record<string, string> = {},
    body?: string,
  ): Promise<void> => {
    const settings = { 'Upstash-Cron': cron, 'Upstash-Schedule-Id': id, ...headers };
    const made = await first.call('POST', `/v2/schedules/${first.sink.url}${to}`, {
      headers: settings,
      ...(body === undefined ? {} : { body }),
    });
    expect(made.status).toBe(200);
  };
  const publish = async (to: string, headers: Record<string, string>, body: string): Promise<void> => {
    expect((await first.call('POST', `/v2/publish/${first.sink.url}${to}`, { headers, body })).status).toBeLessThan(
      300,
    );
  };
});

/** In the page: notes the states that cells go through, until the event `seen`. */
const WATCH_CELLS = `new Promise((resolve) => {
  const states = new Set();
  const note = () => document.querySelectorAll('.cell').forEach((cell) => states.add(cell.classList.contains('hop') ? 'hop' : cell.dataset.state));
  const observer = new MutationObserver(note);
  observer.observe(document.body, { subtree: true, attributes: true, attributeFilter: ['data-state', 'class'] });
  note();
  document.addEventListener('seen', () => { observer.disconnect(); resolve([...states]); });
})`;

it('the built page is small, and whole without any other host', () => {
  const folder = path.resolve(import.meta.dirname, '../../dist/web');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.map((entry) => readFileSync(path.join(entry.parentPath, entry.name)));
  expect(bytes.reduce((sum, file) => sum + gzipSync(file).length, 0)).toBeLessThan(PAGE_MAX_BYTES);
  const addresses = bytes.flatMap((file) => file.toString('latin1').match(/https?:\/\/[a-z0-9.-]+/g) ?? []);
  // Names of XML's namespaces, and the examples in fields.
  expect(addresses.filter((address) => !/www\.w3\.org|example\.com/.test(address))).toEqual([]);
});
