// The command line client against a whole node: every command, bodies byte for byte, faults in one line.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Cli, cliFor, runCli } from '../../kit/cli.js';
import { startTestNode, TEST_SIGNING_KEYS, type TestNode } from '../../kit/node.js';

let node: TestNode;
let cli: Cli;

beforeAll(async () => {
  node = await startTestNode();
  cli = cliFor(node);
});
beforeEach(() => {
  node.sink.answer((call) => (call.path.startsWith('/fail') ? { status: 500 } : {}));
});
afterAll(async () => {
  cli.remove();
  await node.stop();
});

const published = async (...args: string[]): Promise<string> =>
  (await cli.json('publish', ...args)).messageId as string;

async function received(messageId: string) {
  const [call] = await node.sink.waitFor(1, (candidate) => candidate.messageId === messageId);
  return call!;
}

/** Publishes what fails at once, and waits until it is a dead letter. */
async function deadLetter(label: string): Promise<{ messageId: string; dlqId: string }> {
  const messageId = await published(`${node.sink.url}/fail`, '--retries', '0', '--label', label);
  const letters = async () => (await cli.json('dlq', 'list', '--label', label)).messages as { dlqId: string }[];
  await expect.poll(async () => (await letters()).length).toBeGreaterThan(0);
  return { messageId, dlqId: (await letters())[0]!.dlqId };
}

describe('carillon publish', () => {
  it('sends a message, says its id, and when it is due', async () => {
    const { code, out, err } = await cli.run(['publish', `${node.sink.url}/one`, '--body', 'hello']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^msg_[0-9a-f]{32} {2}accepted, due \d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
    const call = await received(out.split(' ')[0]!);
    expect(call.body.toString()).toBe('hello');
    expect(call.headers['content-type']).toBeUndefined();
  });

  it('passes every byte of a file and of the standard input through', async () => {
    const bytes = Buffer.concat([Buffer.from([0, 0xff, 0xfe, 0xed, 0xa0, 0x80, 0x0d, 0x0a]), randomBytes(70_000)]);
    const file = path.join(cli.home, 'body.bin');
    writeFileSync(file, bytes);
    const fromFile = await published(`${node.sink.url}/file`, '--body', `@${file}`);
    expect((await received(fromFile)).body.equals(bytes)).toBe(true);
    const { out } = await cli.run(['publish', `${node.sink.url}/input`, '--body', '-'], { input: bytes });
    expect((await received(out.split(' ')[0]!)).body.equals(bytes)).toBe(true);
  });

  it('sends a text that begins with @ when told that it is one', async () => {
    const messageId = await published(`${node.sink.url}/at`, '--body-text', '@home');
    expect((await received(messageId)).body.toString()).toBe('@home');
  });

  it('says that a body is JSON when it is, unless told otherwise', async () => {
    const json = await received(await published(`${node.sink.url}/json`, '--body', ' {"a":1}'));
    expect(json.headers['content-type']).toBe('application/json');
    const told = await published(`${node.sink.url}/json`, '--body', '{"a":1}', '-H', 'content-type: text/x-own');
    expect((await received(told)).headers['content-type']).toBe('text/x-own');
  });

  it('forwards headers, and takes a destination as it is', async () => {
    const target = `${node.sink.url}/a/../b%2Fc//d?x=1&upstash-delay=9h&y=%C3%A9`;
    const call = await received(
      await published(target, '-X', 'put', '-H', 'X-Name: Zoë 鐘', '-H', 'X-Two: 1', '-H', 'X-Two: 2'),
    );
    expect(call.method).toBe('PUT');
    expect(Buffer.from(String(call.headers['x-name']), 'latin1').toString()).toBe('Zoë 鐘');
    expect(call.headers['x-two']).toBe('1, 2');
    const run = await cli.json('run', call.messageId);
    expect(run.destination).toBe(target);
  });

  it('keeps to the settings that are given', async () => {
    const messageId = await published(
      ...[`${node.sink.url}/later`, '--delay', '2h', '--retries', '7', '--label', 'a,b', '--label', 'c'],
      ...['--key', 'work:1', '--timeout', '20s', '--retry-delay', '1000 * (1 + retried)', '--redact', 'body'],
      ...['--callback', `${node.sink.url}/told`, '--failure-callback', `${node.sink.url}/failed`],
    );
    const run = await cli.json('run', messageId);
    expect(run).toMatchObject({
      state: 'pending',
      maxRetries: 7,
      labels: ['a', 'b', 'c'],
      key: 'work:1',
      timeoutMs: 20_000,
    });
    expect(Date.parse(run.dueAt as string) - Date.now()).toBeGreaterThan(7_100_000);
    const again = await cli.run(['publish', `${node.sink.url}/later`, '--key', 'work:1']);
    expect(again.out).toContain(`${messageId}  accepted before, due`);
  });

  it('deduplicates by an id and by the content', async () => {
    const first = await published(`${node.sink.url}/dedup`, '--deduplication-id', 'd1', '--body', '1');
    expect(await published(`${node.sink.url}/dedup`, '--deduplication-id', 'd1', '--body', '2')).toBe(first);
    const byContent = [`${node.sink.url}/dedup`, '--content-based-deduplication', '--body', '3'];
    expect(await published(...byContent)).toBe(await published(...byContent));
  });

  it('sends not before the time of --at, to the millisecond', async () => {
    const atMs = Date.now() + 86_400_123;
    const messageId = await published(`${node.sink.url}/at`, '--at', new Date(atMs).toISOString());
    expect((await cli.json('run', messageId)).dueAt).toBe(new Date(atMs).toISOString());
  });
});

describe('carillon cancel', () => {
  it('cancels one message or several, and tells those that were not waiting', async () => {
    const ids = await Promise.all([1, 2, 3].map(() => published(`${node.sink.url}/never`, '--delay', '1h')));
    expect(await cli.run(['cancel', ids[0]!])).toEqual({ code: 0, out: 'canceled 1\n', err: '' });
    const again = await cli.run(['cancel', ids[0]!]);
    expect(again.code).toBe(1);
    expect(again.err).toMatch(/^carillon: message "msg_.*is not pending.*\(HTTP 404\)\n$/);
    const all = await cli.run(['cancel', ...ids]);
    expect(all).toMatchObject({ code: 1, out: 'canceled 2\n' });
    expect(all.err).toContain('1 of 3 messages were not waiting');
  });
});

describe('carillon schedule', () => {
  const daily = (): string[] => [
    'schedule',
    'create',
    `${node.sink.url}/daily`,
    '--id',
    'daily',
    '--cron',
    '0 2 * * *',
  ];

  it('is created, listed, read, paused, resumed, triggered and deleted', async () => {
    const created = await cli.run([...daily(), '--time-zone', 'America/New_York', '--body', 'nightly\nreport']);
    expect(created.code).toBe(0);
    expect(created.out).toMatch(/^saved daily\n\nUTC +BY ITS OWN CLOCK/);
    expect(created.out.trimEnd().split('\n')).toHaveLength(6);

    const list = await cli.run(['schedule', 'list']);
    expect(list.out).toMatch(/^ID +STATE +CRON +ZONE +NEXT +DESTINATION\n/);
    expect(list.out).toMatch(/^daily +active +0 2 \* \* \* +America\/New_York +\d{4}-/m);

    const shown = await cli.run(['schedule', 'get', 'daily']);
    expect(shown.out).toMatch(/^misfire +once$/m);
    expect(shown.out).toContain('\nnightly\nreport\n');

    expect((await cli.run(['schedule', 'pause', 'daily'])).out).toBe('daily is paused\n');
    expect((await cli.run(['schedule', 'list'])).out).toMatch(/^daily +paused/m);
    expect((await cli.run(['schedule', 'resume', 'daily'])).out).toBe('daily is not paused\n');

    const { out } = await cli.run(['schedule', 'trigger', 'daily']);
    const call = await received(out.split(' ')[0]!);
    expect(call.scheduleId).toBe('daily');
    expect(call.occurrence).toBeUndefined();

    expect((await cli.run(['schedule', 'delete', 'daily'])).out).toBe('deleted daily\n');
    const gone = await cli.run(['schedule', 'get', 'daily']);
    expect(gone).toMatchObject({ code: 1, err: 'carillon: there is no schedule "daily" (HTTP 404)\n' });
  });

  it('takes every policy', async () => {
    await cli.json(
      ...[
        'schedule',
        'create',
        `${node.sink.url}/all`,
        '--id',
        'all',
        '--cron',
        '@hourly',
        '--misfire',
        'all; window=6h',
      ],
      ...['--overlap', 'queue', '--window', '10m', '--start', '2030-01-01T00:00:00Z', '--end', '2031-01-01T00:00:00Z'],
      ...['--key', 'report:{yyyy-MM-dd-HH}', '--delay', '5s', '--retries', '1', '--method', 'PATCH', '-H', 'X-A: 1'],
    );
    const schedule = await cli.json('schedule', 'get', 'all');
    expect(schedule).toMatchObject({
      ...{ misfire: 'all', misfireWindow: 6 * 3_600_000, overlap: 'queue', window: 600_000, delay: 5, retries: 1 },
      ...{ start: Date.parse('2030-01-01T00:00:00Z'), end: Date.parse('2031-01-01T00:00:00Z'), method: 'PATCH' },
      ...{ idempotencyKey: 'report:{yyyy-MM-dd-HH}', header: { 'X-A': ['1'] } },
    });
    const shown = (await cli.run(['schedule', 'get', 'all'])).out;
    expect(shown).toMatch(/^misfire +all; window=6h$/m);
    const next = await cli.run(['schedule', 'next', 'all', '--count', '2']);
    expect(next.out).toContain('2030-01-01T00:00:00Z');
    expect(next.out.trimEnd().split('\n')).toHaveLength(3);
    await cli.json('schedule', 'delete', 'all');
  });

  it('is refused with the reason when it can never fire', async () => {
    const { code, err, out } = await cli.run(['schedule', 'create', `${node.sink.url}/x`, '--cron', '0 0 30 2 *']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^carillon: .*never.*\(HTTP 400\)\n$/);
  });
});

describe('carillon cron', () => {
  it('shows what a clock change does to an expression', async () => {
    const gap = ['cron', '30 2 * * *', '-z', 'America/New_York', '--from', '2026-03-07T12:00:00Z', '--count', '2'];
    expect((await cli.run(gap)).out.split('\n').slice(0, 3)).toEqual([
      'UTC                   BY ITS OWN CLOCK           NOTE',
      '2026-03-08T07:00:00Z  2026-03-08T03:00:00-04:00  the clock skips this time: it comes right after',
      '2026-03-09T06:30:00Z  2026-03-09T02:30:00-04:00',
    ]);
    const twice = ['cron', '30 1 * * *', '-z', 'America/New_York', '--from', '2026-10-31T12:00:00Z', '--count', '1'];
    expect((await cli.run(twice)).out).toContain('the clock shows this time twice');
  });

  it('says how two day fields are taken, and which field is wrong', async () => {
    expect((await cli.run(['cron', '0 0 1 * MON'])).out).toContain('day of month or day of week: either is enough\n');
    const wrong = await cli.run(['cron', '61 * * * *']);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toMatch(/^carillon: .*minute.*61.*\n$/);
  });

  it('shows times in the zone of this machine on request', async () => {
    const before = process.env.TZ;
    process.env.TZ = 'Asia/Kolkata';
    try {
      const { out } = await cli.run(['cron', '0 0 * * *', '--from', '2026-01-01T00:00:00Z', '-n', '1', '--local']);
      expect(out).toMatch(/^HERE +BY ITS OWN CLOCK\n2026-01-02T05:30:00\+05:30 /);
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  });
});

describe('carillon runs', () => {
  it('lists the record by its filters, page by page', async () => {
    for (let index = 0; index < 5; index++) {
      await received(await published(`${node.sink.url}/runs`, '--label', 'paged', '--key', `paged:${index}`));
    }
    const done = ['runs', '--label', 'paged', '--state', 'delivered'];
    await expect.poll(async () => ((await cli.json(...done)).runs as unknown[]).length).toBe(5);
    const page = await cli.run([...done, '--count', '3']);
    expect(page.out).toMatch(/^DUE +STATE +STATUS +LATE +TRIES +KEY +DESTINATION +MESSAGE\n/);
    expect(page.out.trimEnd().split('\n')).toHaveLength(4);
    const cursor = /--cursor (\S+)/.exec(page.err)?.[1];
    const rest = await cli.run([...done, '--cursor', cursor!]);
    expect(rest.out.trimEnd().split('\n')).toHaveLength(3);
    expect(rest.err).toBe('');
    const one = (await cli.json('runs', '--key', 'paged:3')).runs as { key: string }[];
    expect(one.map(({ key }) => key)).toEqual(['paged:3']);
    const from = new Date(Date.now() + 3_600_000).toISOString();
    expect((await cli.run(['runs', '--label', 'paged', '--from', from])).out).toBe('no runs\n');
  });

  it('counts them by state', async () => {
    await received(await published(`${node.sink.url}/sum`, '--label', 'summed'));
    await expect
      .poll(async () => (await cli.run(['runs', '--label', 'summed', '--summary'])).out)
      .toMatch(/^STATE +RUNS\n.*delivered +1\n/s);
    expect(await cli.json('runs', '--label', 'summed', '--summary')).toMatchObject({ delivered: 1, failed: 0 });
  });

  it('tells all about one run: attempts, the error, what the receiver answered', async () => {
    node.sink.answer(({ retried }) =>
      retried === 0 ? { status: 503, body: 'not\u001b[2J yet' } : { body: 'at last\n' },
    );
    const messageId = await published(`${node.sink.url}/flaky`, '--retry-delay', '50');
    await expect.poll(async () => (await cli.json('run', messageId)).state).toBe('delivered');
    const { out } = await cli.run(['run', messageId]);
    expect(out).toMatch(/^attempts +2 of at most 4$/m);
    expect(out).toMatch(/^FAILED +STARTED +STATUS +ERROR/m);
    expect(out).toMatch(/^ +1 +\S+Z +503/m);
    expect(out).toContain('\nanswer:\nat last\n');
    expect(out).not.toContain('\u001b');
    const unknown = await cli.run(['run', `msg_${'0'.repeat(32)}`]);
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain('there is no run');
  });
});

describe('carillon dlq', () => {
  it('lists dead letters and shows one', async () => {
    const { dlqId, messageId } = await deadLetter('shown');
    const list = await cli.run(['dlq', 'list', '--label', 'shown', '--status', '500']);
    expect(list.out).toMatch(/^FAILED +STATUS .*DESTINATION +DEAD LETTER\n/);
    expect(list.out).toContain(dlqId);
    const { out } = await cli.run(['dlq', 'get', dlqId]);
    expect(out).toContain(messageId);
    expect(out).toMatch(/^status +500$/m);
    expect((await cli.run(['dlq', 'list', '--label', 'nobody'])).out).toBe('no dead letters\n');
  });

  it('sends one, several or all again', async () => {
    const letters = [await deadLetter('again-1'), await deadLetter('again-2'), await deadLetter('again-3')];
    const ids = letters.map(({ dlqId }) => dlqId);
    node.sink.answer(() => ({}));
    const one = await cli.run(['dlq', 'retry', ids[0]!]);
    expect(one.out).toMatch(/^msg_[0-9a-f]{32}\nsent again: 1\n$/);
    await received(one.out.split('\n')[0]!);
    const gone = await cli.run(['dlq', 'retry', ids[0]!]);
    expect(gone.code).toBe(1);
    const two = await cli.run(['dlq', 'retry', ids[0]!, ids[1]!]);
    expect(two).toMatchObject({ code: 1, err: 'carillon: 1 of 2 are no dead letters (any more)\n' });
    expect(two.out).toContain('sent again: 1\n');
    const all = await cli.json('dlq', 'retry', '--all');
    expect((all.responses as unknown[]).length).toBeGreaterThanOrEqual(1);
    expect((await cli.run(['dlq', 'list'])).out).toBe('no dead letters\n');
  });

  it('deletes one, or those that fit', async () => {
    const { dlqId } = await deadLetter('deleted-1');
    await deadLetter('deleted-2');
    expect((await cli.run(['dlq', 'delete', dlqId])).out).toBe('deleted: 1\n');
    expect(await cli.json('dlq', 'delete', '--label', 'deleted-2')).toEqual({ deleted: 1 });
  });

  it('does nothing to all of them by mistake', async () => {
    for (const command of ['retry', 'delete']) {
      const bare = await cli.run(['dlq', command]);
      expect(bare).toMatchObject({ code: 2, out: '' });
      expect(bare.err).toContain('give ids, or --all');
      expect((await cli.run(['dlq', command, '1-2', '--all'])).code).toBe(2);
    }
  });
});

describe('carillon keys, tenant and token', () => {
  it('shows the signing keys and rotates those of another tenant', async () => {
    const shown = await cli.run(['keys', 'show']);
    expect(shown.out).toBe(`current  ${TEST_SIGNING_KEYS.current}\nnext     ${TEST_SIGNING_KEYS.next}\n`);
    expect((await cli.run(['tenant', 'create', 'acme'])).out).toContain('created acme');
    expect((await cli.run(['tenant', 'list'])).out).toMatch(/^NAME +CREATED\n.*acme/s);
    const created = await cli.json('token', 'create', 'acme', '--label', 'ci');
    const token = created.token as string;
    const as = ['--url', node.url, '--token', token, '--json'];
    const before = JSON.parse((await cli.run(['keys', 'show', ...as])).out) as { next: string };
    const after = JSON.parse((await cli.run(['keys', 'rotate', ...as])).out) as { current: string };
    expect(after.current).toBe(before.next);
    expect((await cli.run(['token', 'list', 'acme'])).out).toMatch(
      /^ID +CREATED +LAST USED +EXPIRES +SOURCE +LABEL\n[0-9a-f]{16} .* never +created +ci\n$/,
    );
    const id = created.id as string;
    expect((await cli.run(['token', 'revoke', 'acme', id])).out).toBe(`revoked ${id}\n`);
    await expect.poll(async () => (await cli.run(['keys', 'show', ...as])).code).toBe(1);
  });

  it("creates, lists and revokes administrators' tokens, with an expiry (issue 11, A5)", async () => {
    const { token, id } = await cli.json('admin-token', 'create', '--label', 'ops', '--expires-in', '12h');
    const as = ['--url', node.url, '--admin-token', String(token)];
    const listed = await cli.run(['admin-token', 'list', ...as]);
    expect(listed.out).toMatch(/ never +environment +from the environment\n[0-9a-f]{16} .*T.*Z +created +ops\n$/);
    const timed = await cli.run(['admin-token', 'create', '--expires-at', '2099-01-01T00:00:00Z', ...as]);
    expect(timed.out).toMatch(/^id +[0-9a-f]{16}\nexpires +2099-01-01T00:00:00Z\ntoken +carillon_/);
    expect(await cli.run(['admin-token', 'revoke', String(id)])).toMatchObject({
      code: 0,
      out: `revoked ${String(id)}\n`,
    });
    await expect.poll(async () => (await cli.run(['admin-token', 'list', ...as])).code).toBe(1);
    const refused = await cli.run(['admin-token', 'create', '--expires-in', 'soon']);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('expiresIn')]);
  });
});

describe('what the client prints', () => {
  it('fits the terminal: cells are cut with an ellipsis, and columns go when even that is not enough', async () => {
    const long = `${node.sink.url}/${'long-path-'.repeat(20)}`;
    await cli.json('schedule', 'create', long, '--id', 'wide', '--cron', '0 0 1 1 *', '--time-zone', 'Europe/Kyiv');
    const lengths = async (columns: number): Promise<number> => {
      const { out } = await cli.run(['schedule', 'list'], { columns, environment: { NO_COLOR: '1' } });
      return Math.max(...out.split('\n').map((line) => line.length));
    };
    for (const columns of [200, 120, 100, 80, 60, 40, 20]) expect(await lengths(columns)).toBeLessThanOrEqual(columns);
    const { out } = await cli.run(['schedule', 'list'], { columns: 100, environment: { NO_COLOR: '1' } });
    expect(out).toMatch(/…$/m);
    expect((await cli.run(['schedule', 'list'])).out).toContain(long);
    await cli.json('schedule', 'delete', 'wide');
  });

  it('has colour on a terminal only, and never with NO_COLOR', async () => {
    await cli.json('schedule', 'create', `${node.sink.url}/c`, '--id', 'colour', '--cron', '0 0 1 1 *');
    const list = ['schedule', 'list'];
    expect((await cli.run(list, { columns: 100 })).out).toContain('\u001b[32mactive');
    expect((await cli.run(list, { columns: 100, environment: { NO_COLOR: '1' } })).out).not.toContain('\u001b');
    expect((await cli.run(list)).out).not.toContain('\u001b');
    await cli.json('schedule', 'delete', 'colour');
  });
});

describe('faults', () => {
  const oneLine = /^carillon: [^\n]+\n$/;

  it('says what to do when nothing runs', async () => {
    const home = path.join(cli.home, 'empty');
    mkdirSync(home, { recursive: true });
    const { code, err, out } = await runCli(['runs', '--home', home]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(oneLine);
    expect(err).toContain(`no connection.json in ${home}: is \`npm start\` running?`);
  });

  it('says so when nobody listens, when the token is wrong, and when it is not Carillon that answers', async () => {
    const other = createServer((_request, response) => response.end('<html>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const html = await runCli(['runs', '--url', url, '--token', 'x']);
    expect(html).toMatchObject({ code: 1, out: '' });
    expect(html.err).toMatch(/^carillon: .*no JSON: is this the address of Carillon\?\n$/);
    await new Promise((resolve) => other.close(resolve));
    const closed = await runCli(['runs', '--url', url, '--token', 'x']);
    expect(closed.code).toBe(1);
    expect(closed.err).toMatch(/^carillon: http:\S+ cannot be reached \(ECONNREFUSED\)/);
    const wrong = await runCli(['runs', '--url', node.url, '--token', 'x']);
    expect(wrong.code).toBe(1);
    expect(wrong.err).toMatch(/^carillon: invalid token.*\(HTTP 401; .*\)\n$/);
  });

  it('passes on what the API says about a refused request', async () => {
    const { code, err } = await cli.run(['publish', `${node.sink.url}/x`, '--delay', '401d']);
    expect(code).toBe(1);
    expect(err).toMatch(oneLine);
    expect(err).toContain('CARILLON_DELAY_MAX_MS');
    expect((await cli.run(['runs', '--state', 'done'])).err).toContain('expected one or several of pending');
  });

  it.each([
    [['publish', 'example.com/x'], 'http:// or https://'],
    [['publish'], 'missing required argument'],
    [['publish', 'http://x.test', '--at', 'tomorrow'], 'expected a time with Z or its offset'],
    [['publish', 'http://x.test', '--at', '2030-01-01T00:00:00Z', '--delay', '1m'], 'cannot be used with'],
    [['publish', 'http://x.test', '--header', 'nonsense'], "expected 'Name: value'"],
    [['publish', 'http://x.test', '--header', 'X-A: a\nb'], 'can be in no header'],
    [['publish', 'http://x.test', '--body', '@/does/not/exist'], 'no such file'],
    [['schedule', 'create', 'http://x.test'], "required option '-c, --cron"],
    [['schedule', 'lst'], "unknown command 'lst'"],
    [['runs', '--stat', 'failed'], "unknown option '--stat'"],
    [['runs', '--count', '0'], 'expected a whole number from 1'],
    [['runs', '--url', 'http://127.0.0.1:1'], '--url needs --token'],
    [['tenant', 'list', '--url', 'http://127.0.0.1:1', '--token', 'x'], 'this command needs --admin-token'],
    [[], 'Usage: carillon'],
  ])('gives exit code 2 for what makes no sense: %j', async (args, text) => {
    const { code, out, err } = await cli.run(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(text);
  });

  it('gives help and the version on request', async () => {
    expect(await cli.run(['--version'])).toMatchObject({ code: 0, err: '' });
    const help = await cli.run(['publish', '--help']);
    expect(help.code).toBe(0);
    expect(help.out).toContain('--deduplication-id');
  });
});

describe.skipIf(!existsSync('dist/.built'))('npx carillon, as it is built', () => {
  it('reads connection.json, prints the answer alone, and passes bytes from its standard input', async () => {
    const bytes = Buffer.from([0, 1, 2, 0xff, 0x0a]);
    const args = ['cli/carillon.mjs', 'publish', `${node.sink.url}/built`, '--body', '-', '--json'];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, CARILLON_HOME: cli.home },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin.end(bytes);
    let out = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) out += String(chunk);
    const { messageId } = JSON.parse(out) as { messageId: string };
    expect((await received(messageId)).body.equals(bytes)).toBe(true);
  }, 120_000);
});
