// Issue 11, A9: nothing that a server says reaches the terminal as anything but text, whichever command shows it.

import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, type CliResult } from '../../kit/cli.js';

const HOSTILE = 'a\u001b[2J\u001b]0;t\u0007\r\b\u007f\u0090\u009b31m\u061c\u200e\u200f\u202e\u2066\ud800\u2028z';
const OBEYED = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

let server: Server;
let url: string;
let home: string;
/** What the server answers with, to whatever it is asked. */
let answer: { status: number; body: unknown };

beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'carillon-screen-'));
  server = createServer((_request, response) => {
    response.statusCode = answer.status;
    response.end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
  server.close();
});

const run = (args: readonly string[], columns?: number): Promise<CliResult> =>
  runCli([...args, '--home', home, '--url', url, '--token', 't', '--admin-token', 'a'], {
    ...(columns !== undefined && { columns, environment: { NO_COLOR: '1' } }),
  });

const attempts = [{ attempt: 1, state: HOSTILE, error: HOSTILE, createdAt: 1 }];
const thing = {
  ...{
    name: HOSTILE,
    id: HOSTILE,
    label: HOSTILE,
    token: HOSTILE,
    source: HOSTILE,
    messageId: HOSTILE,
    scheduleId: HOSTILE,
    dlqId: HOSTILE,
  },
  ...{
    state: HOSTILE,
    destination: HOSTILE,
    url: HOSTILE,
    method: HOSTILE,
    cron: HOSTILE,
    body: HOSTILE,
    error: HOSTILE,
  },
  ...{
    response: { body: HOSTILE, status: 200 },
    header: { [HOSTILE]: [HOSTILE] },
    attempts: 1,
    failedAttempts: attempts,
  },
  ...{ labels: [HOSTILE], cancelled: HOSTILE, current: HOSTILE, next: HOSTILE, createdAt: 0, maxRetries: 1 },
};

const COMMANDS: readonly (readonly [args: readonly string[], body: unknown])[] = [
  [['keys', 'show'], thing],
  [['tenant', 'create', 'x'], thing],
  [['tenant', 'list'], [thing]],
  [['token', 'create', 'x'], thing],
  [['token', 'list', 'x'], [thing]],
  [['token', 'revoke', 'x', 'y'], thing],
  [['admin-token', 'create'], thing],
  [['admin-token', 'list'], [thing]],
  [['admin-token', 'revoke', 'y'], thing],
  [['publish', 'http://a.test'], thing],
  [['cancel', 'x'], thing],
  [['cron', '* * * * *'], { times: [{ utc: '2026-01-01T00:00:00Z', local: HOSTILE, dst: null }], dayRule: null }],
  [['nodes'], { nodes: [{ ...thing, uptimeMs: 1, heardMs: 1, shards: 1, draining: false }] }],
  [['shards'], { shards: [{ shard: 1, owner: HOSTILE, node: HOSTILE, epoch: 1 }] }],
  [['schedule', 'pause', 'x'], thing],
  [['schedule', 'delete', 'x'], thing],
  [['schedule', 'trigger', 'x'], thing],
  [['runs', '-n', '1'], { runs: [{ ...thing, attempts: 1 }], cursor: HOSTILE }],
  [
    ['dlq', 'list', '-n', '1'],
    { messages: [{ ...thing, responseError: HOSTILE, responseStatus: 500 }], cursor: HOSTILE },
  ],
  [['dlq', 'get', 'x'], { ...thing, responseError: HOSTILE, responseBody: HOSTILE, responseStatus: 500 }],
];

describe.each(COMMANDS)('carillon %s', (args, body) => {
  it('shows what steers terminals, and does not pass it on', async () => {
    answer = { status: 200, body };
    for (const columns of [undefined, 80]) {
      const { out, err, code } = await run(args, columns);
      expect(code === 0 || err !== '').toBe(true);
      expect(out).not.toMatch(OBEYED);
      expect(err).not.toMatch(OBEYED);
    }
  });

  it('with --json gives JSON of the same value, in characters that do nothing', async () => {
    answer = { status: 200, body };
    const { out } = await run([...args, '--json']);
    expect(out).not.toMatch(OBEYED);
    expect(JSON.parse(out)).toEqual(body);
  });

  it('passes nothing on of a refusal either', async () => {
    answer = { status: 400, body: { error: HOSTILE } };
    const { err, code } = await run(args);
    expect([code, err]).toEqual([1, expect.stringContaining('carillon: a\ufffd[2J')]);
    expect(err.slice(0, -1)).not.toMatch(/\n/);
    expect(err).not.toMatch(OBEYED);
  });
});

it('a line that is one stays one', async () => {
  answer = { status: 200, body: { ...thing, name: 'a\nb\nc' } };
  expect((await run(['tenant', 'create', 'x'])).out.match(/\n/g)).toHaveLength(1);
});

it('what the command line and files have is neutralised likewise', async () => {
  const input = Buffer.from(`${HOSTILE.replace('\ud800', '')}\n{"destination":"\u009bx"}\n`);
  const { out, err } = await runCli(['import', '-', '--dry-run'], { input });
  expect(out + err).not.toMatch(OBEYED);
  const unknown = await runCli([HOSTILE]);
  expect(unknown.code).toBe(2);
  expect(unknown.err).not.toMatch(OBEYED);
});
