// The list of schedules, page by page: stable while schedules come and go, by filters, and from indexes alone.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pageSchedules, ALL_SCHEDULES } from '../../../src/postgres/schedules/schedule-pages.js';
import type { Given, StatementName } from '../../../src/postgres/database.js';
import { planOf } from '../../kit/plans.js';
import { Records } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS, 2);
});
afterAll(() => records.close());

interface Spec {
  readonly id: string;
  readonly tenant?: number;
  readonly state?: 'active' | 'paused' | 'ended';
  readonly destination?: string;
  readonly labels?: string[];
  readonly body?: Buffer;
}

async function insert(...specs: Spec[]): Promise<void> {
  for (const { id, tenant, state = 'active', destination = 'https://a.test/x', labels = [], body } of specs) {
    await records.database.text(
      `insert into schedules (tenant_id, id, shard, state, next_fire_at, cron, anchor_at, destination, method, max_retries, timeout_ms,
         labels, body, misfire, misfire_window_ms, overlap, created_at, updated_at)
       values ($1, $2, 0, $3, case when $3 = 'active' then now() end, '@daily', now(), $4, 'POST', 3, 1000, $5, $6, 'once', 1000, 'allow',
         now(), now())`,
      [tenant ?? records.tenants[0], id, state, destination, labels, body ?? Buffer.alloc(0)],
    );
  }
}

const clear = () => records.database.text('delete from schedules');

interface Listed {
  readonly ids: string[];
  readonly cursor: string | undefined;
}

async function list(query: string, tenant = records.tenants[0]): Promise<Listed> {
  const { status, text } = await records.get(`/v2/schedules?${query}`, tenant);
  expect(status, text).toBe(200);
  const answer = JSON.parse(text) as { schedules: { scheduleId: string }[]; cursor?: string };
  return { ids: answer.schedules.map(({ scheduleId }) => scheduleId), cursor: answer.cursor };
}

/** All pages of a list. */
async function all(query: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const page: Listed = await list(cursor === '' ? query : `${query}&cursor=${cursor}`);
    ids.push(...page.ids);
    cursor = page.cursor;
  }
  return ids;
}

describe('pages of schedules', () => {
  it('follow each other by id, whatever comes and goes meanwhile', async () => {
    await clear();
    await insert(...['a', 'c', 'e', 'g', 'Z', '_', '0'].map((id) => ({ id })), { id: 'b', tenant: records.tenants[1] });
    const first = await list('count=3');
    expect(first.ids).toEqual(['0', 'Z', '_']);
    await insert({ id: '1' }, { id: 'b' });
    await records.database.text("delete from schedules where id = 'c'");
    const second = await list(`count=3&cursor=${first.cursor ?? ''}`);
    expect(second.ids).toEqual(['a', 'b', 'e']);
    const third = await list(`count=3&cursor=${second.cursor ?? ''}`);
    expect(third).toEqual({ ids: ['g'], cursor: undefined });
  });

  it('are a plain list of all where nothing is asked, as the clients of QStash want it', async () => {
    await clear();
    await records.database.text(
      `insert into schedules (tenant_id, id, shard, next_fire_at, cron, anchor_at, destination, method, max_retries, timeout_ms, misfire,
         misfire_window_ms, overlap, created_at, updated_at)
       select $1, 's' || n, 0, now(), '@daily', now(), 'https://a.test/x', 'POST', 3, 1000, 'once', 1000, 'allow', now(), now()
       from generate_series(1001, 2203) n`,
      [records.tenants[0]],
    );
    const { text } = await records.get('/v2/schedules');
    const ids = (JSON.parse(text) as { scheduleId: string }[]).map(({ scheduleId }) => scheduleId);
    expect(ids).toEqual(Array.from({ length: 1203 }, (_, n) => `s${n + 1001}`));
    expect(await all('count=500')).toEqual(ids);
  });

  it('end early rather than hold many large bodies', async () => {
    await clear();
    const body = Buffer.alloc(3 * 2 ** 20, 'x');
    await insert(...['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, body })));
    const page = await list('count=100');
    expect(page.ids).toEqual(['a', 'b']);
    expect(await all('count=100')).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});

describe('a filter of schedules', () => {
  beforeAll(async () => {
    await clear();
    await insert(
      { id: 'billing.1', destination: 'https://Pay.test:8443/run?x=1', labels: ['money', 'night'] },
      { id: 'billing.2', destination: 'https://user:word@pay.test/run', state: 'paused', labels: ['money'] },
      { id: 'billing-3', destination: 'https://pay.test/other', state: 'ended' },
      { id: 'report', destination: 'https://report.test/pay', labels: ['night', 'host pay.test'] },
      { id: 'billing.9', destination: 'https://pay.test/run', labels: ['money'], tenant: records.tenants[1] },
    );
  });
  it.each([
    ['state=paused,ended', ['billing-3', 'billing.2']],
    ['state=active', ['billing.1', 'report']],
    ['label=money', ['billing.1', 'billing.2']],
    ['label=money,night&count=1', ['billing.1', 'billing.2', 'report']],
    ['label=money&state=active', ['billing.1']],
    ['host=PAY.test', ['billing-3', 'billing.1', 'billing.2']],
    ['host=pay.test:8443', ['billing.1']],
    ['host=pay.test&label=money&state=paused', ['billing.2']],
    [`destination=${encodeURIComponent('https://pay.test/other')}`, ['billing-3']],
    ['idPrefix=billing.', ['billing.1', 'billing.2']],
    ['idPrefix=billing.&state=paused&count=1', ['billing.2']],
    ['search=PAY', ['billing-3', 'billing.1', 'billing.2', 'report']],
    ['search=report', ['report']],
    ['idPrefix=nothing', []],
  ])('%s', async (query, ids) => {
    expect(await all(query)).toEqual(ids);
  });

  it('follows edits and deletions', async () => {
    await insert({ id: 'edited', labels: ['before', 'both'] });
    await records.database.text(
      "update schedules set labels = array['both', 'after'], destination = 'https://b.test' where id = 'edited'",
    );
    expect(await all('label=before')).toEqual([]);
    expect(await all('label=after')).toEqual(['edited']);
    expect(await all('label=both')).toEqual(['edited']);
    expect(await all('host=b.test')).toEqual(['edited']);
    await records.database.text("delete from schedules where id = 'edited'");
    expect(await records.database.text("select 1 from schedule_marks where schedule_id = 'edited'")).toEqual([]);
  });

  it.each([
    ['labels=money', 'did you mean label?'],
    ['state=running', 'expected one or several of active, paused, ended'],
    ['count=0', 'expected a whole number from 1 to 1000'],
    ['cursor=abc', 'expected the cursor of an earlier answer of this list'],
    ['idPrefix=', 'idPrefix is empty'],
  ])('that makes no sense is refused: %s', async (query, text) => {
    const answer = await records.get(`/v2/schedules?${query}`);
    expect(answer).toMatchObject({ status: 400, json: { error: expect.stringContaining(text) as string } });
  });
});

describe('in a table of some size, a page', () => {
  const ROWS = 30_000;
  beforeAll(async () => {
    await clear();
    await records.database.text(
      `insert into schedules (tenant_id, id, shard, state, next_fire_at, cron, anchor_at, destination, method, max_retries, timeout_ms,
         labels, misfire, misfire_window_ms, overlap, created_at, updated_at)
       select $1, 's' || lpad(n::text, 8, '0'), n % 16, case when n % 1000 = 0 then 'paused' else 'active' end, now(), '@daily', now(),
         'https://h' || n % 100 || '.test/' || n, 'POST', 3, 1000, case when n % 50 = 0 then array['l' || n % 7] else '{}' end, 'once', 1000,
         'allow', now(), now()
       from generate_series(1, ${ROWS}) n`,
      [records.tenants[0]],
    );
    await records.database.text('vacuum analyze schedules');
    await records.database.text('vacuum analyze schedule_marks');
  });

  const plan = <Name extends StatementName>(name: Name, ...given: Given<Name>): Promise<string> =>
    planOf(records.database, '', name, ...given);
  const BOUNDS = { fromId: 's0001', afterId: 's00015', beforeId: 's0001~', limit: 101 };
  const UNASKED = { destinations: null, hosts: null, labels: null };
  const MARKS = ['host h7.test', 'label l3'];
  it.each<[string, (tenantId: number) => Promise<string>, RegExp]>([
    [
      'select-schedule-ids',
      (tenantId) => plan('select-schedule-ids', { tenantId, ...BOUNDS }),
      /Index Only Scan using schedules_pkey/,
    ],
    [
      'select-schedule-ids-by-mark',
      (tenantId) => plan('select-schedule-ids-by-mark', { tenantId, ...BOUNDS, marks: MARKS }),
      /using schedule_marks_pkey/,
    ],
    [
      'select-schedule-ids-by-state',
      (tenantId) => plan('select-schedule-ids-by-state', { tenantId, ...BOUNDS, states: ['paused', 'ended'] }),
      /using schedules_resting/,
    ],
    [
      'select-wanted-schedules',
      (tenantId) =>
        plan('select-wanted-schedules', {
          ...{ tenantId, ids: ['s00010001'], states: ['active'], ...UNASKED, search: 'x', limit: 100 },
        }),
      /using schedules_pkey/,
    ],
    [
      'select-schedules',
      (tenantId) => plan('select-schedules', { tenantId, ids: ['s00010001', 's00010002'] }),
      /using schedules_pkey/,
    ],
  ])('is read from an index alone: %s', async (_name, planFor, index) => {
    const plan = await planFor(records.tenants[0]);
    expect(plan).toMatch(index);
    expect(plan).not.toMatch(/Seq Scan on/);
  });

  it('that searches looks at a bounded number at once, and is given up after its time with a cursor', async () => {
    // A clock that says each look at it that a second has passed.
    let nowMs = NOW_MS;
    const clock = { nowMs: () => (nowMs += 1_001) };
    const filter = { ...ALL_SCHEDULES, search: 'nowhere' };
    const query = { filter, afterId: '', limit: 9 };
    const page = await records.read((reads) => pageSchedules(reads, clock, records.tenants[0], query));
    expect(page).toEqual({ schedules: [], nextAfterId: 's00000010' });
  });

  it('looks where the fewest are: for the paused ones of a host among the paused ones', async () => {
    let nowMs = NOW_MS;
    // Time for one step.
    const clock = { nowMs: () => (nowMs += 1_001) };
    const filter = { ...ALL_SCHEDULES, hosts: ['h0.test'], states: ['paused' as const] };
    const query = { filter, afterId: '', limit: 9 };
    const page = await records.read((reads) => pageSchedules(reads, clock, records.tenants[0], query));
    const thousands = Array.from({ length: 9 }, (_, n) => `s0000${n + 1}000`);
    expect(page.schedules.map(({ id }) => id)).toEqual(thousands);
    const none = { ...filter, hosts: ['h1.test'] };
    const last = { filter: none, afterId: 's00029000', limit: 9 };
    const end = await records.read((reads) => pageSchedules(reads, clock, records.tenants[0], last));
    expect(end).toEqual({ schedules: [], nextAfterId: null });
  });
});
