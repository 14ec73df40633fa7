// What an import makes of crontabs, of QStash's schedules and of BullMQ's job schedulers, line by line.

import { describe, expect, it } from 'vitest';
import { runCli, type CliResult } from '../../kit/cli.js';

async function dryRun(lines: readonly (string | object)[], ...args: string[]): Promise<CliResult & { items: Item[] }> {
  const input = Buffer.from(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  const result = await runCli(['import', '-', '--dry-run', ...args], { input });
  const texts = result.out.split('\n').filter((line) => line !== '');
  return { ...result, items: texts.map((line) => JSON.parse(line) as Item) };
}

interface Item {
  readonly destination: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body?: string;
}

const CRONTAB = ['--crontab', '--destination-template', 'https://run.test/{name}?c={command}'];

describe('a crontab', () => {
  it('becomes calls that name the commands', async () => {
    const { items, code } = await dryRun(
      [
        '# nightly',
        'SHELL=/bin/sh',
        'MAILTO="ops@example.com"',
        '',
        '0 2 * * MON-FRI /usr/bin/backup --all  # tail',
        'CRON_TZ=Europe/Kyiv',
        '@hourly   mail -s "100\\% done" ops%first line%second',
        '*/5 * * * * A=b run',
      ],
      ...CRONTAB,
      '--time-zone',
      'America/New_York',
    );
    expect(code).toBe(0);
    expect(items.map(({ headers }) => [headers['Upstash-Cron'], headers['Carillon-Time-Zone']])).toEqual([
      ['0 2 * * MON-FRI', 'America/New_York'],
      ['@hourly', 'Europe/Kyiv'],
      ['*/5 * * * *', 'Europe/Kyiv'],
    ]);
    expect(items[0]?.destination).toBe('https://run.test/backup?c=%2Fusr%2Fbin%2Fbackup%20--all%20%20%23%20tail');
    expect(JSON.parse(items[0]?.body ?? '')).toEqual({
      command: '/usr/bin/backup --all  # tail',
      environment: { SHELL: '/bin/sh', MAILTO: 'ops@example.com' },
    });
    expect(JSON.parse(items[1]?.body ?? '')).toMatchObject({
      command: 'mail -s "100% done" ops',
      input: 'first line\nsecond',
    });
    expect(items[2]?.destination).toContain('c=A%3Db%20run');
  });

  it('of the system has a user before each command', async () => {
    const { items } = await dryRun(['17 * * * * root cd / && run-parts'], ...CRONTAB, '--user-field', '-z', 'UTC');
    expect(JSON.parse(items[0]?.body ?? '')).toEqual({ command: 'cd / && run-parts', user: 'root' });
  });

  it.each([
    ['@reboot start', 'nothing here starts with a machine'],
    ['* * * * 8 x', 'cron field "day-of-week"'],
    ['0 0 */2 * MON x', 'cron wants both of them to match'],
    ['0 0 * *', 'expected five fields and a command'],
    // Issue 11, B1 and B2.
    ['H 2 * * * x', 'did you mean "0 2 * * *"?'],
    ['0 22-2 * * * x', 'did you mean "0 22-23,0-2 * * *"?'],
  ])('has lines that cannot be: %s', async (line, text) => {
    const { code, err, items } = await dryRun([line], ...CRONTAB, '--time-zone', 'UTC');
    expect([code, items]).toEqual([1, []]);
    expect(err).toMatch(/^line 1: /);
    expect(err).toContain(text);
  });

  it('is in a zone of the IANA database (issue 11, B1)', async () => {
    const inFile = await dryRun(['CRON_TZ=BST', '0 0 * * * x'], ...CRONTAB);
    expect(inFile.err).toContain('did you mean Europe/London?');
    expect((await dryRun(['0 0 * * * x'], ...CRONTAB, '-z', 'PST')).err).toContain('did you mean America/Los_Angeles?');
    expect([inFile.code, inFile.items]).toEqual([1, []]);
  });

  it('has no zone of its own', async () => {
    const { err } = await dryRun(['0 0 * * * x'], ...CRONTAB);
    expect(err).toContain('say which one with --time-zone');
  });

  it('gives each line an id that stays the same', async () => {
    const crontab = ['CRON_TZ=UTC', '0 0 * * * x', '0 0 * * * x'];
    const ids = async (...args: string[]) =>
      (await dryRun(crontab, ...CRONTAB, ...args)).items.map(({ headers }) => headers['Upstash-Schedule-Id']);
    const first = await ids();
    expect(new Set(first).size).toBe(2);
    expect(await ids('--from-line', '3')).toEqual(first.slice(1));
  });
});

it("QStash's schedules become the same here", async () => {
  const { items, err } = await dryRun(
    [
      {
        scheduleId: 'scd_1',
        cron: 'CRON_TZ=Europe/Kyiv 0 4 * * *',
        createdAt: 1,
        destination: 'https://a.test/x',
        method: 'PUT',
        header: { 'X-A': ['1', '2'], 'Content-Type': ['text/plain'] },
        body: 'b',
        retries: 2,
        delay: 60,
        isPaused: true,
        labels: ['l', 'm'],
        label: 'l',
        lastScheduleStates: {},
      },
      { scheduleId: 'scd_2', cron: '* * * * *', destination: 'https://a.test', queueName: 'q' },
    ],
    '--qstash',
  );
  expect(items).toEqual([
    {
      destination: 'https://a.test/x',
      headers: {
        'Upstash-Cron': 'CRON_TZ=Europe/Kyiv 0 4 * * *',
        'Upstash-Schedule-Id': 'scd_1',
        'Upstash-Method': 'PUT',
        'Upstash-Retries': 2,
        'Upstash-Delay': '60s',
        'Upstash-Label': 'l,m',
        'Upstash-Forward-X-A': ['1', '2'],
        'Upstash-Forward-Content-Type': ['text/plain'],
      },
      body: 'b',
      paused: true,
    },
  ]);
  expect(err).toContain('line 2: "queueName" has no counterpart here');
});

it("BullMQ's job schedulers become schedules", async () => {
  const { items, err } = await dryRun(
    [
      {
        key: 'report',
        name: 'send report',
        pattern: '0 30 2 * * *',
        tz: 'Europe/Kyiv',
        endDate: 2_000_000_000_000,
        iterationCount: 4,
        template: { data: { a: 1 }, opts: { attempts: 5 } },
      },
      { key: 'a:b', name: 'n', every: 90_000 },
      { key: 'odd', every: 1_500 },
      { key: 'few', every: 1_000, limit: 3 },
    ],
    ...['--bullmq', '--destination-template', 'https://app.test/jobs/{name}'],
  );
  expect(items).toMatchObject([
    {
      destination: 'https://app.test/jobs/send%20report',
      headers: {
        'Upstash-Cron': '0 30 2 * * *',
        'Upstash-Schedule-Id': 'report',
        'Carillon-Time-Zone': 'Europe/Kyiv',
        'Carillon-End': '2033-05-18T03:33:20.000Z',
        'Upstash-Retries': 4,
      },
      body: '{"a":1}',
    },
    { headers: { 'Upstash-Cron': '@every 90s', 'Upstash-Schedule-Id': expect.stringMatching(/^bullmq_/) as string } },
  ]);
  expect(err).toContain('line 3: "every" is 1500');
  expect(err).toContain('line 4: "limit"');
});

it.each([
  [['--crontab'], '--destination-template <url> belongs to'],
  [['--time-zone', 'UTC'], 'belong to --crontab'],
  [['--from-line', '0'], '--from-line is "0"'],
])('an import is refused that makes no sense: %s', async (args, text) => {
  const { code, err } = await dryRun(['{}'], ...args);
  expect(code).toBe(2);
  expect(err).toContain(text);
});

it.each([
  ['2027-02-30T00:00:00Z', '2027-02 has 28 days'],
  ['2027-02-01T00:00:00', 'did you mean 2027-02-01T00:00:00Z?'],
  ['February 1, 2027', 'expected ISO 8601'],
  [8.65e15, 'expected ISO 8601'],
])('a start of %s in a job scheduler of BullMQ is refused: %s (issue 12)', async (startDate, why) => {
  const line = { key: 'k', pattern: '0 0 * * *', startDate };
  const { code, err } = await dryRun([line], '--bullmq', '--destination-template', 'https://a.test/{name}');
  expect(code).toBe(1);
  expect(err).toContain(why);
});

it("an id of BullMQ's that no URL can carry becomes a hash (issue 12)", async () => {
  const line = { key: '..', pattern: '0 0 * * *' };
  const { items } = await dryRun([line], '--bullmq', '--destination-template', 'https://a.test/{name}');
  expect(items[0]?.headers['Upstash-Schedule-Id']).toMatch(/^bullmq_/);
});

it.each(['http:///host', 'http:////host', 'http://:80', 'http:/host', 'http://\\\\host'])(
  'the client calls no %s (issue 11, B4)',
  async (url) => {
    const { code, err } = await runCli(['nodes', '--url', url, '--token', 't']);
    expect(code).not.toBe(0);
    expect(err).toContain('is no URL, expected http://host:port');
  },
);
