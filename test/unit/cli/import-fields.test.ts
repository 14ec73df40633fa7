// Issue 11, A9 and B6: whatever a line of a foreign format is made of, nothing of it is lost in silence, and nothing of it ends or holds up the import.

import { describe, expect, it } from 'vitest';
import { runCli } from '../../kit/cli.js';

const BULLMQ = ['--bullmq', '--destination-template', 'https://app.test/{name}'];
const CRONTAB = ['--crontab', '--time-zone', 'UTC', '--destination-template', 'https://app.test/{name}'];
const QSTASH = ['--qstash'];

interface Item {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function imported(line: string | object, args: readonly string[]): Promise<{ items: Item[]; err: string }> {
  const input = Buffer.from(typeof line === 'string' ? line : JSON.stringify(line));
  const { out, err, code } = await runCli(['import', '-', '--dry-run', ...args], { input });
  const items = out.split('\n').flatMap((text) => (text === '' ? [] : [JSON.parse(text) as Item]));
  expect(code).toBe(err === '' ? 0 : 1);
  return { items, err };
}

const scheduler = (given: object): object => ({ key: 'k', every: 90_000, ...given });
const qstash = (given: object): object => ({
  scheduleId: 's',
  cron: '* * * * *',
  destination: 'https://a.test',
  ...given,
});
const own = (given: object): object => ({
  destination: 'https://a.test',
  headers: { 'Upstash-Cron': '@daily' },
  ...given,
});

describe('a field', () => {
  it.each([
    ['BullMQ', BULLMQ, scheduler({ novelty: 1 }), '"novelty" has no counterpart'],
    ['BullMQ', BULLMQ, scheduler({ limit: 3 }), '"limit" is 3'],
    ['BullMQ', BULLMQ, scheduler({ immediately: true }), '"immediately" is true'],
    ['BullMQ', BULLMQ, scheduler({ pattern: '* * * * *' }), '"every" is 90000: there is a pattern'],
    ['BullMQ', BULLMQ, { key: 'k', pattern: '* * * * *', offset: 5 }, '"offset" is 5'],
    ['BullMQ', BULLMQ, scheduler({ template: { opts: { priority: 2 } } }), '"template.opts.priority" is 2'],
    ['BullMQ', BULLMQ, scheduler({ template: { opts: { delay: 500 } } }), '"template.opts.delay" is 500'],
    ['BullMQ', BULLMQ, scheduler({ template: { opts: { lifo: true } } }), '"template.opts.lifo" has no counterpart'],
    [
      'BullMQ',
      BULLMQ,
      scheduler({ template: { opts: { backoff: { type: 'x' } } } }),
      '"template.opts.backoff.type" is "x"',
    ],
    [
      'BullMQ',
      BULLMQ,
      scheduler({ template: { opts: { backoff: { type: 'fixed', jitter: 1 } } } }),
      '"template.opts.backoff',
    ],
    ['BullMQ', BULLMQ, scheduler({ template: { more: 1 } }), '"template.more" has no counterpart'],
    ['QStash', QSTASH, qstash({ flowControlKey: 'f' }), '"flowControlKey" has no counterpart'],
    ['QStash', QSTASH, qstash({ callbackHeader: { a: ['b'] } }), '"callbackHeader" has no counterpart'],
    ['own', [], own({ headers: { 'Upstash-Cron': '@daily', 'X-Lost': 'x' } }), '"headers.X-Lost" is "x"'],
    ['crontab', CRONTAB, 'RANDOM_DELAY=30', 'RANDOM_DELAY has no counterpart'],
  ])('of %s that nothing here stands for is refused by its name: %o %o', async (_, args, line, text) => {
    const { items, err } = await imported(line, args);
    expect(items).toEqual([]);
    expect(err).toContain('line 1: ');
    expect(err).toContain(text);
  });

  const foreign: readonly (readonly [string[], (given: object) => object, readonly string[]])[] = [
    [
      QSTASH,
      qstash,
      ['header', 'cron', 'destination', 'scheduleId', 'method', 'labels', 'retries', 'isPaused', 'createdAt'],
    ],
    [BULLMQ, scheduler, ['key', 'name', 'pattern', 'every', 'offset', 'tz', 'startDate', 'next', 'template']],
    [[], own, ['destination', 'headers', 'body', 'bodyBase64', 'paused']],
  ];
  it.each(foreign.flatMap(([args, make, names]) => names.map((name) => [name, args, make] as const)))(
    '"%s" of another kind is named, and null is as if it were not there: %o',
    async (name, args, make) => {
      for (const value of [[[]], { deep: [{}] }, [null], -0.5, true]) {
        const { items, err } = await imported(make({ [name]: value }), args);
        if (items.length === 0) expect(err).toMatch(new RegExp(`^line 1: "${name}`));
      }
      const without = await imported(make({ [name]: undefined }), args);
      expect(await imported(make({ [name]: null }), args)).toEqual(
        without.items.length === 0 ? without : { items: [expect.anything()], err: '' },
      );
    },
  );

  it.each([
    ['QStash', QSTASH, qstash({ timeout: 30 }), { 'Upstash-Timeout': '30s' }],
    ['QStash', QSTASH, qstash({ label: 'a', labels: ['b', 'a'] }), { 'Upstash-Label': 'a,b' }],
    ['BullMQ', BULLMQ, scheduler({ template: { opts: { backoff: 500 } } }), { 'Upstash-Retry-Delay': '500' }],
    [
      'BullMQ',
      BULLMQ,
      scheduler({
        template: { opts: { attempts: 3, backoff: { type: 'exponential', delay: 1_000 }, removeOnFail: 5 } },
      }),
      { 'Upstash-Retries': 2, 'Upstash-Retry-Delay': '1000 * pow(2, retried)' },
    ],
  ])('of %s is carried over: %o %o', async (_, args, line, headers) => {
    expect((await imported(line, args)).items).toMatchObject([{ headers }]);
  });
});

describe('the grid of an @every', () => {
  const MINUTE = 60_000;
  const at = Date.UTC(2026, 4, 5, 6, 7, 8, 901);

  it.each([
    ['of BullMQ is that of the epoch', BULLMQ, scheduler({}), 90_000, 0],
    ['of BullMQ is moved by its offset', BULLMQ, scheduler({ offset: 15_250 }), 90_000, 15_250],
    ['of BullMQ goes on from its next time', BULLMQ, scheduler({ next: at }), 90_000, at],
    ['of BullMQ begins at its start', BULLMQ, scheduler({ startDate: at }), 90_000, at],
    ['of QStash goes on from its next time', QSTASH, qstash({ cron: '@every 1m', nextScheduleTime: at }), MINUTE, at],
    ['of QStash is that of its creation', QSTASH, qstash({ cron: '@every 1m', createdAt: at }), MINUTE, at],
  ])('%s', async (_, args, line, everyMs, onGridMs) => {
    const [item] = (await imported(line, args)).items;
    const anchorMs = Date.parse(item?.headers['Carillon-Anchor'] ?? '');
    expect(((anchorMs - onGridMs) % everyMs) + 0).toBe(0);
    // An anchor itself does not fire.
    if (onGridMs >= everyMs) expect(anchorMs).toBe(onGridMs - everyMs);
  });
});

it('variables of a crontab reach the command, TZ among them', async () => {
  const { items } = await imported('TZ=Europe/Kyiv\nPATH=/bin\nMAILTO=\'\'\nX="a b"\n0 0 * * * x', CRONTAB);
  const { environment } = JSON.parse(items[0]?.body ?? '') as { environment: unknown };
  expect(environment).toEqual({ TZ: 'Europe/Kyiv', PATH: '/bin', MAILTO: '', X: 'a b' });
});

describe('a line of half a megabyte', () => {
  const long = (unit: string): string => unit.repeat(500_000 / unit.length);
  it.each([
    ['one word', CRONTAB, `0 0 * * * ${long('a')}/`],
    ['an assignment of blanks', CRONTAB, `A=${long(' ')}x y`],
    ['quotes', CRONTAB, `A=${long('"')}x`],
    ['fields', CRONTAB, long('* ')],
    ['words', CRONTAB, `* * * * ${long('ab ')}`],
    ['percent signs', CRONTAB, `* * * * * ${long('\\%')}`],
    ['nested lists', BULLMQ, `{"key":"k","every":1000,"template":{"data":${long('[')}${long(']')}}}`],
    ['nested lists', [], `{"destination":"http://a.test","headers":${long('[')}${long(']')}}`],
    ['a key', BULLMQ, JSON.stringify(scheduler({ key: long('/') }))],
    ['a cron expression', BULLMQ, JSON.stringify({ key: 'k', pattern: long('*/') })],
    ['a duration', QSTASH, JSON.stringify(qstash({ cron: `@every ${long('1')}` }))],
  ])('is dealt with at once: %s', async (_, args, line) => {
    const { err } = await imported(line, args);
    expect(err.length).toBeLessThan(1_000);
  });
});
