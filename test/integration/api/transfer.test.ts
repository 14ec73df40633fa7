// carillon import and export: what goes out comes in the same, once, however often an import is interrupted and repeated.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cliFor, runCli, type Cli } from '../../kit/cli.js';
import { startTestNode, type TestNode } from '../../kit/node.js';

let node: TestNode;
let cli: Cli;
let folder: string;
beforeAll(async () => {
  node = await startTestNode();
  cli = cliFor(node);
  folder = mkdtempSync(path.join(tmpdir(), 'carillon-transfer-'));
});
afterAll(async () => {
  cli.remove();
  rmSync(folder, { recursive: true, force: true });
  await node.stop();
});

// Issue 11, B6.
it('an @every fires on its grid also where it was imported', async () => {
  const anchor = '2026-01-01T00:00:07.250Z';
  const headers = { 'Upstash-Cron': '@every 90s', 'Upstash-Schedule-Id': 'grid', 'Carillon-Anchor': anchor };
  const file = fileOf('grid.ndjson', [{ destination: 'https://a.test/', headers }]);
  const [from, to] = [await tenant('grid-from'), await tenant('grid-to')];
  expect(await from.run('import', file)).toMatchObject({ code: 0 });
  const { out } = await from.run('export', 'schedules');
  expect(lines(out)).toMatchObject([{ headers: { 'Carillon-Anchor': anchor } }]);
  expect(await to.run('import', fileOf('again.ndjson', lines(out)))).toMatchObject({ code: 0 });
  const next = async (run: typeof to.run): Promise<number> => {
    const answer = JSON.parse((await run('schedule', 'get', 'grid', '--json')).out) as { nextScheduleTime: number };
    return answer.nextScheduleTime;
  };
  expect((await next(to.run)) % 90_000).toBe(Date.parse(anchor) % 90_000);
  expect(await to.run('import', file, '--json')).toMatchObject({
    out: expect.stringContaining('"unchanged": 1') as string,
  });
  const moved = { ...headers, 'Carillon-Anchor': '2026-01-01T00:00:20Z' };
  await to.run('import', fileOf('moved.ndjson', [{ destination: 'https://a.test/', headers: moved }]));
  expect((await next(to.run)) % 90_000).toBe(20_000);
  const calendar = { ...headers, 'Upstash-Cron': '@daily' };
  const refused = await to.run(
    'import',
    fileOf('calendar.ndjson', [{ destination: 'https://a.test/', headers: calendar }]),
  );
  expect(refused.err).toContain('Carillon-Anchor belongs to "@every');
});

interface Line {
  destination: string;
  headers: Record<string, unknown>;
  body?: string;
  bodyBase64?: string;
  paused?: true;
}

function fileOf(name: string, lines: readonly (object | string)[]): string {
  const file = path.join(folder, name);
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  writeFileSync(file, `${text}\n`);
  return file;
}

/** The command line of another tenant. */
async function tenant(name: string): Promise<{ token: string; run: (...args: string[]) => ReturnType<typeof runCli> }> {
  const admin = { headers: { authorization: `Bearer ${node.adminToken}` } };
  await node.call('POST', '/admin/tenants', { ...admin, body: JSON.stringify({ name }) });
  const made = await node.call('POST', `/admin/tenants/${name}/tokens`, { ...admin, body: '{"label":"test"}' });
  const { token } = (await made.json()) as { token: string };
  return { token, run: (...args) => runCli([...args, '--url', node.url, '--token', token]) };
}

const lines = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
const byKey = (a: Line, b: Line): number => (keyOf(a) < keyOf(b) ? -1 : 1);
const keyOf = ({ headers }: Line): string =>
  JSON.stringify([headers['Upstash-Schedule-Id'], headers['Carillon-Idempotency-Key']]);

const FULL = {
  'Upstash-Method': 'PUT',
  'Upstash-Retries': '7',
  'Upstash-Retry-Delay': '1000 * (1 + retried)',
  'Upstash-Timeout': '12.5s',
  'Upstash-Label': 'a,b c',
  'Upstash-Callback': 'https://cb.test/a',
  'Upstash-Callback-Method': 'PATCH',
  'Upstash-Callback-Retries': '0',
  'Upstash-Callback-Retry-Delay': '5',
  'Upstash-Callback-Timeout': '1m',
  'Upstash-Callback-Delay': '1h0.001s',
  'Upstash-Callback-Forward-X-Cb': 'ü',
  'Upstash-Failure-Callback': 'https://cb.test/f',
  'Upstash-Forward-X-One': 'grün',
  'Upstash-Forward-X-Two': ['a', 'b'],
  'Content-Type': 'text/plain',
};

describe('an export', () => {
  const inAYear = Date.now() + 300 * 86_400_000 + 123;
  const items: Line[] = [
    {
      destination: 'https://a.test/x?y=%20z,1',
      headers: {
        ...FULL,
        'Upstash-Cron': 'CRON_TZ=Europe/Kyiv 0 4 * * *',
        'Upstash-Schedule-Id': 'full',
        'Upstash-Delay': '1d1h0.25s',
        'Carillon-Misfire': 'all; window=2h',
        'Carillon-Overlap': 'queue',
        'Carillon-Window': '10m',
        'Carillon-Start': '2030-01-01T00:00:00.000Z',
        'Carillon-End': '2095-01-01T00:00:00.000Z',
        'Carillon-Idempotency-Key': 'r:{yyyy-MM-dd}',
      },
      body: 'line\u2028separator',
    },
    {
      destination: 'https://a.test',
      headers: { 'Upstash-Cron': '@every 90s', 'Upstash-Schedule-Id': 'paused' },
      bodyBase64: '/wA=',
      paused: true,
    },
    {
      destination: 'https://a.test',
      headers: { 'Upstash-Cron': '0 2 * * *', 'Carillon-Time-Zone': 'America/New_York', 'Upstash-Schedule-Id': 'zone' },
    },
    {
      destination: 'https://a.test/m',
      headers: { ...FULL, 'Upstash-Not-Before': String(inAYear / 1_000), 'Carillon-Idempotency-Key': 'order:7' },
      body: 'hello',
    },
    {
      destination: 'https://a.test/m2',
      headers: { 'Upstash-Delay': '30d' },
      bodyBase64: '/wA=',
    },
  ];

  it('holds what makes the same again, and leaves what is redacted out', async () => {
    expect((await cli.run(['import', fileOf('full.ndjson', items)])).out).toMatch(/^5 lines; schedules: 3 created/);
    const hidden = {
      destination: 'https://a.test',
      headers: { 'Upstash-Cron': '@daily', 'Upstash-Redact-Fields': 'body' },
    };
    await cli.run(['import', fileOf('hidden.ndjson', [hidden])]);
    const file = path.join(folder, 'out.ndjson');
    const { err, code } = await cli.run(['export', '-o', file]);
    expect(code).toBe(0);
    expect(err).toBe(
      'exported 3 schedules and 2 messages\n1 were left out: what Upstash-Redact-Fields hides is shown to nobody\n',
    );
    const first = lines(readFileSync(file, 'utf8'));
    const [full] = first;
    expect(full).toMatchObject({ destination: items[0]?.destination, body: items[0]?.body });
    for (const [name, value] of Object.entries(items[0]?.headers ?? {})) {
      const exported = full?.headers[name] ?? full?.headers[`Upstash-Forward-${name}`];
      expect([name, exported]).toEqual([name, value]);
    }

    const { run: other } = await tenant('other');
    expect((await other('import', file)).out).toMatch(/3 created.*2 accepted/);
    const again = await other('export');
    expect(lines(again.out).sort(byKey)).toEqual(first.sort(byKey));
    expect((await other('import', file)).out).toMatch(
      /0 created, 0 edited, 3 unchanged; messages: 0 accepted, 2 known already/,
    );
  });

  it('goes page by page, over what is pending alone', async () => {
    const page = async (query: string): Promise<{ items: Line[]; cursor?: string }> =>
      (await (await node.call('GET', `/v2/export/messages?${query}`)).json()) as { items: Line[]; cursor?: string };
    const one = await page('count=1');
    const two = await page(`count=1&cursor=${one.cursor ?? ''}`);
    expect([...one.items, ...two.items]).toHaveLength(2);
    expect(two).not.toHaveProperty('cursor');
    expect(await page('count=1&cursor=abc')).toHaveProperty('error');
  });
});

describe('an import', () => {
  const aSchedule = (n: number): object => ({
    destination: 'https://a.test/s',
    headers: { 'Upstash-Cron': '@daily' },
    body: `s${n}`,
  });
  const aMessage = (n: number): object => ({
    destination: 'https://a.test/m',
    headers: { 'Upstash-Delay': '300d' },
    body: `m${n % 3}`,
  });

  it('that was interrupted and goes on, or is repeated, creates nothing twice', async () => {
    const { run: other, token } = await tenant('interrupted');
    const file = fileOf(
      'many.ndjson',
      Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? aSchedule(n) : aMessage(n))),
    );
    // Takes two batches, does the third without being able to say so, and is away from then on.
    let calls = 0;
    const relay = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        calls += 1;
        if (calls > 5) return void request.socket.destroy();
        const body = Buffer.concat(chunks);
        void fetch(node.url + (request.url ?? ''), {
          method: 'POST',
          headers: { authorization: request.headers.authorization ?? '' },
          body,
        }).then(async (answer) => {
          if (calls === 5) request.socket.destroy();
          else response.writeHead(answer.status).end(await answer.text());
        });
      });
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    const relayUrl = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
    const cut = await runCli(['import', file, '--batch', '10', '--patience', '1', '--url', relayUrl, '--token', token]);
    relay.close();
    expect(cut.code).toBe(1);
    expect(cut.err).toContain('lines before 21 are done: go on with --from-line 21');

    const rest = await other('import', file, '--batch', '10', '--from-line', '21');
    expect(rest.out).toBe(
      '40 lines; schedules: 15 created, 0 edited, 5 unchanged; messages: 20 accepted, 0 known already\n',
    );
    const repeated = await other('import', file);
    expect(repeated.out).toBe(
      '60 lines; schedules: 0 created, 0 edited, 30 unchanged; messages: 0 accepted, 30 known already\n',
    );
    expect(lines((await other('export')).out)).toHaveLength(60);
  });

  it('tells of each line that was refused, and takes the others', async () => {
    const { run: other } = await tenant('refused');
    const file = fileOf('faulty.ndjson', [
      aSchedule(1),
      '{"destination": ',
      '',
      '[]',
      { ...aSchedule(2), headers: { 'Upstash-Cron': '0 25 * * *' } },
      { ...aSchedule(3), hedaers: {} },
      aMessage(4),
    ]);
    const refused = path.join(folder, 'refused.ndjson');
    const { code, out, err } = await other('import', file, '--refused', refused);
    expect(code).toBe(1);
    expect(out).toBe(
      '7 lines; schedules: 1 created, 0 edited, 0 unchanged; messages: 1 accepted, 0 known already; 4 refused\n',
    );
    expect(err).toMatch(
      /^line 2: this is not JSON.*\nline 4: .*no object.*\nline 5: cron field "hour".*\nline 6: .*did you mean headers\?/,
    );
    const written = readFileSync(refused, 'utf8').trimEnd().split('\n');
    expect(written.map((line) => (JSON.parse(line) as { line: number }).line).sort()).toEqual([2, 4, 5, 6]);
  });

  it('draws a bar on a terminal', async () => {
    const file = fileOf(
      'bar.ndjson',
      Array.from({ length: 40 }, (_, n) => aSchedule(n)),
    );
    const { err } = await cli.run(['import', file, '--batch', '10'], { columns: 100 });
    expect(err).toMatch(/\r\[#+\.+\] \d+ %, 10 lines, [\d,]+\/s, \d+ s left/);
    expect(err).toMatch(/\r +\r$/);
  });
});
