// Issue 11, entry A7: what nobody who plays fair would send. Cursors that no answer had, and parameters at and beyond
// every edge, are a 400 or name nothing; they are never a fault of the node's.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY, MINUTE, Records } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');
const RUNS = { numRuns: 80 };

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS);
  await records.insert(records.deadLetter(), records.delivered({ dueAtMs: NOW_MS - MINUTE }), { labels: ['l'] });
  const at = new Date(NOW_MS - DAY).toISOString();
  await records.database.text(
    `insert into schedules (tenant_id, id, shard, cron, anchor_at, destination, method, max_retries, timeout_ms, misfire, misfire_window_ms,
       overlap, next_fire_at, last_fire_at, created_at, updated_at)
     select $1, id, 0, cron, $2, 'https://a.test/', 'POST', 3, 1000, 'skip', 1000, 'allow', $3, $2, $2, $2
     from (values ('s', '*/5 * * * *'), ('yearly', '0 0 29 2 *')) made (id, cron)`,
    [records.tenants[0], at, new Date(NOW_MS).toISOString()],
  );
  await records.database.text(
    `insert into schedule_changes (tenant_id, schedule_id, at, generation, change, detail) values ($1, 's', $2, 1, 'created', '{"cron":"*/5 * * * *"}')`,
    [records.tenants[0], at],
  );
});
afterAll(() => records.close());

/** What the statuses of an answer may be, whatever was asked. */
async function expectNoError(method: 'GET' | 'DELETE' | 'POST', url: string, payload?: string): Promise<void> {
  const { status, text } = await records.call({ method, url, ...(payload === undefined ? {} : { payload }) });
  expect(status < 500 || status === 501, `${method} ${url} ${payload ?? ''}\n${status} ${text}`).toBe(true);
}

const cursorOf = (...parts: readonly (string | number | bigint)[]): string =>
  Buffer.from(parts.join(' ')).toString('base64url');

/**
 * Numbers at which something may break: 2^15, 2^31, 2^48, 2^53, 2^63, the ends of dates in JavaScript and PostgreSQL,
 * and texts that are almost numbers.
 */
const edge = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '-1',
    '1e400',
    '1e3',
    '0x10',
    '1.5',
    '',
    'NaN',
    'Infinity',
    '007',
    '32767',
    '32768',
    '65536',
  ),
  fc.constantFrom('2147483647', '2147483648', '281474976710655', '281474976710656', '9007199254740993'),
  fc.constantFrom('253402300799999', '253402300800000', '999999999999999', '8640000000000000', '9223372036854775808'),
  fc.nat({ max: 999_999_999_999_999 }).map(String),
);
const hexId = fc.oneof(
  fc.constantFrom('0'.repeat(32), 'f'.repeat(32), 'F'.repeat(32), '-', '', '\0'.repeat(32)),
  fc.stringMatching(/^[0-9a-f]{32}$/),
);
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('\0', '\ud800', 'a\udfffb', '%00', '%', "'", '\\', '{', '~', 'x'.repeat(9_000), ' ', ',,', '𝕏'),
);
/** Each list with places of its own form, whose parts are what nobody would send. */
const OWN: Readonly<Record<string, fc.Arbitrary<string>>> = {
  '/v2/dlq': fc.tuple(edge, hexId).map((parts) => cursorOf('dlq', ...parts)),
  '/v2/events': fc.tuple(edge, hexId, edge).map((parts) => cursorOf('events', ...parts)),
  '/v2/events?order=earliestFirst': fc.tuple(edge, hexId, edge).map((parts) => cursorOf('events-earliest', ...parts)),
  '/v2/logs': edge,
  '/v2/runs': hexId.map((id) => cursorOf('runs', id)),
  '/v2/schedules': text.map((id) => cursorOf('schedules', id)),
  '/v2/export/schedules': text.map((id) => cursorOf('schedules', id)),
  '/v2/export/messages': fc.tuple(edge, hexId).map((parts) => cursorOf('pending', ...parts)),
};
const LISTS = Object.keys(OWN);
const cursor = fc.oneof(...Object.values(OWN), edge, text);
const withQuery = (path: string, query: Record<string, string>): string =>
  `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query).toString()}`;

/** A lone surrogate has no escape. */
const escaped = (name: string): string => encodeURIComponent(Buffer.from(name).toString());

describe('a cursor that no answer had', () => {
  it.each([
    ['/v2/dlq', cursorOf('dlq', 999999999999999, 'f'.repeat(32))],
    ['/v2/dlq', cursorOf('dlq', 253402300800000, 'f'.repeat(32))],
    ['/v2/events', cursorOf('events', 999999999999999, '-', 0)],
    ['/v2/events', cursorOf('events', 0, '-', 9999999999)],
    ['/v2/events', '999999999999999'],
    ['/v2/export/messages', cursorOf('pending', 9999, 'f'.repeat(32))],
    ['/v2/runs', cursorOf('dlq', 0, 'f'.repeat(32))],
    ['/v2/runs', cursorOf('runs', 'f'.repeat(33))],
    ['/v2/schedules', cursorOf('schedules', 'a b')],
  ])('is refused by %s: %s', async (path, made) => {
    const { status, json } = await records.get(withQuery(path, { cursor: made }));
    expect([status, json.error]).toEqual([400, expect.stringContaining('cursor is')]);
  });

  it.each(Object.entries(OWN))('is no fault of the node: %s', async (path, own) => {
    await fc.assert(
      fc.asyncProperty(fc.oneof({ weight: 3, arbitrary: own }, cursor), (made) =>
        expectNoError('GET', withQuery(path, { cursor: made })),
      ),
      RUNS,
    );
  });

  it('is none where many dead letters are handled', async () => {
    await fc.assert(
      fc.asyncProperty(cursor, (made) =>
        expectNoError('DELETE', '/v2/dlq', JSON.stringify({ cursor: made, label: 'nobody-has-it' })),
      ),
      RUNS,
    );
  });
});

describe('a cursor of another tenant, or of another question', () => {
  it('shows nothing that is not the caller’s', async () => {
    const [one, two] = records.tenants;
    for (const path of LISTS) {
      const first = await records.get(withQuery(path, { count: '1' }), one);
      if (first.json.cursor === undefined) continue;
      const { status, text: answer } = await records.get(withQuery(path, { cursor: first.json.cursor }), two);
      expect(status).toBe(200);
      expect(answer).not.toContain('msg_');
      const filtered = withQuery(path, { cursor: first.json.cursor, label: 'nobody-has-it' });
      expect((await records.get(filtered, one)).status).toBeLessThan(500);
    }
  });
});

describe('a parameter at the edge', () => {
  const parameter = fc.constantFrom(
    ...[
      'fromDate',
      'toDate',
      'from',
      'to',
      'count',
      'messageIds',
      'messageId',
      'dlqIds',
      'responseStatus',
      'scheduleId',
    ],
    ...['schedule', 'label', 'url', 'host', 'path', 'callerIp', 'state', 'key', 'idPrefix', 'search', 'destination'],
  );

  it('is no fault of the node, in any list', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...LISTS, '/v2/runs/counts'),
        fc.dictionary(parameter, fc.oneof(edge, text), { minKeys: 1, maxKeys: 3 }),
        (path, query) => expectNoError('GET', withQuery(path, query)),
      ),
      { ...RUNS, numRuns: 400 },
    );
  });

  it.each(['fromDate', 'toDate', 'from', 'to', 'occurrence', 'at'])('is none as a time: %s', async (name) => {
    await fc.assert(
      fc.asyncProperty(edge, async (value) => {
        for (const path of ['/v2/events?order=earliestFirst', '/v2/events?state=CREATED', '/v2/dlq'])
          await expectNoError('GET', withQuery(path, { [name]: value }));
        await expectNoError('GET', withQuery('/v2/runs?schedule=s', { [name]: value }));
        await expectNoError('GET', withQuery('/v2/runs/counts', { [name]: value }));
        for (const id of ['s', 'yearly']) {
          await expectNoError('GET', withQuery(`/v2/schedules/${id}/explain`, { [name]: value }));
          await expectNoError('GET', withQuery(`/v2/schedules/${id}/next`, { [name]: value, count: '3' }));
        }
      }),
      { ...RUNS, numRuns: 20 },
    );
  });

  it('is none in the body of a bulk request, where JSON can say what a query cannot', async () => {
    const value = fc.oneof(fc.jsonValue(), text, fc.array(text, { maxLength: 3 }), fc.double());
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          ['DELETE', '/v2/dlq'] as const,
          ['DELETE', '/v2/messages'] as const,
          ['POST', '/v2/dlq/retry'] as const,
        ),
        fc.dictionary(parameter, value, { minKeys: 1, maxKeys: 3 }),
        ([method, path], body) => expectNoError(method, path, JSON.stringify({ url: 'https://nobody.test/', ...body })),
      ),
      { ...RUNS, numRuns: 200 },
    );
  });

  it('is none as a name in the path', async () => {
    const paths = ['/v2/runs/', '/v2/messages/', '/v2/dlq/', '/v2/schedules/'] as const;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.oneof(
          text,
          edge,
          hexId,
          hexId.map((id) => `msg_${id}`),
          fc.tuple(edge, hexId).map((both) => both.join('-')),
        ),
        (path, name) => expectNoError('GET', path + escaped(name)),
      ),
      { ...RUNS, numRuns: 200 },
    );
  });
});
