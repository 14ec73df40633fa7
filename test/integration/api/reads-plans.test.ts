// How PostgreSQL is read: which weeks and indexes the statements behind the record touch.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { messageIdFloor } from '../../../src/domain/ids.js';
import { searchForLabels } from '../../../src/postgres/runs/labelled.js';
import type { Given, StatementName } from '../../../src/postgres/database.js';
import { filterParams } from '../../../src/postgres/messages/message-filter.js';
import { planOf } from '../../kit/plans.js';
import { DAY, Records } from '../../kit/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');
const HIGHEST_ID = 'f'.repeat(32);

const ANALYZE = '(analyze, format text)';
const UNFILTERED = filterParams({});

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS, 20);
});
afterAll(() => records.close());

/** The weeks that a statement looks at, as the planner sees it. */
async function weeksOf<Name extends StatementName>(name: Name, ...given: Given<Name>): Promise<string[]> {
  const plan = await planOf(records.database, '', name, ...given);
  return [...new Set([...plan.matchAll(/ on (?:messages|attempts)_(\d{8})/g)].map((match) => match[1]!))].sort();
}

it('whether a schedule ran on a day is answered by one week', async () => {
  const range = { lowId: messageIdFloor(NOW_MS - 8 * DAY), belowId: messageIdFloor(NOW_MS - 7 * DAY) };
  const filter = { ...filterParams({ scheduleIds: ['s'] }), walkedLabels: null };
  const params = { ...filter, tenantId: records.tenants[0], ...range, stepRows: 101, limit: 101 };
  expect(await weeksOf('select-run-page', params)).toEqual(['20260608']);
});

it('counting a night takes one week', async () => {
  const range = { lowId: messageIdFloor(NOW_MS - DAY), belowId: messageIdFloor(NOW_MS) };
  const params = { ...UNFILTERED, tenantId: records.tenants[0], ...range, limit: 1_000 };
  expect(await weeksOf('count-runs', params)).toEqual(['20260615']);
});

it('one message and its attempts are looked for in one week', async () => {
  const id = messageIdFloor(NOW_MS);
  const [tenantId] = records.tenants;
  expect(await weeksOf('select-message', { tenantId, id })).toEqual(['20260615']);
  expect(await weeksOf('select-marks-of-messages', { ...UNFILTERED, tenantId, ids: [id] })).toEqual(['20260615']);
  expect(await weeksOf('select-attempts-of', { tenantId, messageId: id, limit: 10 })).toEqual(['20260615']);
  expect(await weeksOf('select-runs', { tenantId, ids: [id], answerBytes: 0 })).toEqual(['20260615']);
  expect(await weeksOf('select-attempts', { messageIds: [id], attempts: [1] })).toEqual(['20260615']);
});

it('dead letters and failed attempts are not looked for in weeks to come', async () => {
  const bound = messageIdFloor(NOW_MS + DAY);
  const [tenantId] = records.tenants;
  const letters = await weeksOf('select-dead-letter-page', {
    ...UNFILTERED,
    ...{ diedFromMs: null, diedToMs: null, afterMs: null, afterId: null },
    ...{ tenantId, beyondId: bound, stepRows: 101, limit: 101 },
  });
  expect(letters.at(-1)).toBe('20260615');
  const stretch = { fromMs: NOW_MS - DAY, untilMs: NOW_MS };
  const attempts = await weeksOf('select-attempt-marks', { tenantId, ...stretch, belowId: bound, limit: 100 });
  expect(attempts.at(-1)).toBe('20260615');
});

/** Whatever happened in it. */
const stretch = (fromMs: number, untilMs: number) => ({
  ...{ createdFromMs: fromMs, startedFromMs: fromMs, endedFromMs: fromMs },
  ...{ createdUntilMs: untilMs, startedUntilMs: untilMs, endedUntilMs: untilMs },
});

it('a stretch of events is found in each week by the indexes of time', async () => {
  // In weeks of some size: an empty table is read as a whole by any plan.
  await records.database.text(
    `insert into messages (id, tenant_id, shard, kind, state, due_at, next_attempt_at, created_at, started_at, finished_at,
       destination, method, max_retries, timeout_ms)
     select (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $2, 0, 'message', 'delivered', at, at, at, at, at,
       repeat('x', 100), 'POST', 3, 1000
     from (select n, ms, to_timestamp(ms / 1000.0) as at from (
       select n, ($1::bigint - n * 120000::bigint) as ms from generate_series(1, 20000) n) spread) timed`,
    [NOW_MS, records.tenants[0]],
  );
  await records.database.text('vacuum analyze messages');
  const plan = await planOf(records.database, ANALYZE, 'select-message-marks', {
    ...{ ...UNFILTERED, ...stretch(NOW_MS - 10 * DAY, NOW_MS - 9.9 * DAY) },
    ...{ tenantId: records.tenants[0], lowId: messageIdFloor(0), belowId: HIGHEST_ID, limit: 2_000 },
  });
  expect(plan).toMatch(/Bitmap Heap Scan on messages_20260601/);
  expect(plan).not.toMatch(/Seq Scan on messages_20260(525|601|608)/);
});

it('a millisecond of events is found in each week by the indexes of time, and not by walking ids', async () => {
  const plan = await planOf(records.database, '', 'select-message-marks-of-moment', {
    ...{ ...UNFILTERED, ...stretch(NOW_MS - 10 * DAY, NOW_MS - 10 * DAY + 1) },
    ...{ tenantId: records.tenants[0], lowId: messageIdFloor(0), highId: HIGHEST_ID, limit: 2_000, lowestFirst: true },
  });
  expect(plan).toMatch(/Bitmap Index Scan on messages_2026\d{4}_created_at_idx/);
  expect(plan).not.toMatch(/Index Scan using messages_\d{8}_(?:pkey|tenant_id_id_idx)/);
});

it('the latest runs of one schedule are read from its index, in order, whatever it ran before', async () => {
  await records.database.text(
    `insert into messages (id, tenant_id, shard, kind, state, schedule_id, due_at, next_attempt_at, created_at, destination, method, max_retries,
       timeout_ms)
     select (lpad(to_hex(ms), 12, '0') || '70008001' || lpad(to_hex(n), 12, '0'))::uuid, $2, 0, 'occurrence', 'delivered',
       case when n % 10 = 0 then 'busy' else 'other' || n % 1000 end, at, at, at, repeat('x', 100), 'POST', 3, 1000
     from (select n, ms, to_timestamp(ms / 1000.0) as at from (
       select n, ($1::bigint - n * 60000::bigint) as ms from generate_series(1, 30000) n) spread) timed`,
    [NOW_MS, records.tenants[0]],
  );
  await records.database.text('vacuum analyze messages');
  const plan = await planOf(records.database, ANALYZE, 'select-run-page', {
    ...{ ...filterParams({ scheduleIds: ['busy'] }), walkedLabels: null, tenantId: records.tenants[0] },
    ...{ lowId: messageIdFloor(0), belowId: messageIdFloor(NOW_MS), stepRows: 16, limit: 16 },
  });
  // 16 rows of the latest week; in the order of the index nothing is sorted but the page itself.
  const scans = [
    ...plan.matchAll(/Index Scan Backward using messages_\d+_tenant_id_schedule_id_id_idx .*?actual.*?rows=(\d+)/g),
  ];
  expect(
    scans.map(([, read]) => Number(read)),
    plan,
  ).toContain(16);
  expect(plan).not.toMatch(/Bitmap Heap Scan/);
});

it('a page of a label that many have does not read all that have it (issue 12, entry 13)', async () => {
  await records.database.text(
    `update messages set labels = case when schedule_id = 'busy' then array['many'] else array['many', 'few'] end
      where schedule_id = 'busy' or schedule_id like 'other%99'`,
  );
  await records.database.text('vacuum analyze messages');
  const bounds = { lowId: messageIdFloor(0), belowId: messageIdFloor(NOW_MS) };
  const [tenantId] = records.tenants;
  const many = await records.read((reads) => searchForLabels(reads, tenantId, { labels: ['many'] }, bounds));
  expect(many).toEqual({ filter: { labels: ['many'] }, byWalking: true });
  const filter = { ...UNFILTERED, walkedLabels: ['many'] };
  const page = { ...filter, ...bounds, tenantId, stepRows: 2_000, limit: 16 };
  const plan = await planOf(records.database, ANALYZE, 'select-run-page', page);
  const read = [...plan.matchAll(/ on messages_\d+ .*?actual.*?rows=(\d+)/g)].map((match) => Number(match[1]));
  expect(
    read.reduce((sum, rows) => sum + rows, 0),
    plan,
  ).toBe(2_000);
  const few = await records.read((reads) => searchForLabels(reads, tenantId, { labels: ['few'] }, bounds));
  expect(few.byWalking).toBe(false);
  expect(few.filter.messageIds).toHaveLength(300);
});

it('a moment in which a schedule did not run is not looked for in all that it ran since', async () => {
  const atMs = NOW_MS - 10 * DAY;
  const plan = await planOf(records.database, ANALYZE, 'select-occurrence-around', {
    ...{ tenantId: records.tenants[0], scheduleId: 'busy', fromMs: atMs, toMs: atMs },
    ...{ lowId: messageIdFloor(atMs), rowsBefore: 7, rowsAfter: 5 },
  });
  const read = [...plan.matchAll(/ on messages_\d+ .*?actual.*?rows=(\d+)/g)].map((match) => Number(match[1]));
  expect(Math.max(...read), plan).toBe(7);
  expect(read, plan).toContain(5);
});
