// How PostgreSQL is read: which weeks and indexes the statements behind the record touch.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { messageIdFloor } from '../../../src/domain/ids.js';
import { searchForLabels } from '../../../src/postgres/runs/labelled.js';
import { timestamp } from '../../../src/postgres/messages/message-columns.js';
import { withFilter, type MessageFilter } from '../../../src/postgres/messages/message-filter.js';
import { sql } from '../../../src/postgres/sql.js';
import { DAY, Records } from '../../support/records.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');
const HIGHEST_ID = 'f'.repeat(32);

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS, 20);
});
afterAll(() => records.close());

/** The weeks that a statement looks at, as the planner sees it. */
async function weeksOf(name: string, fixed: readonly unknown[], filter: MessageFilter = {}): Promise<string[]> {
  const { text, values } = withFilter(name, fixed, filter);
  const rows = await records.database.text<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  return [...new Set([...plan.matchAll(/ on (?:messages|attempts)_(\d{8})/g)].map((match) => match[1]!))].sort();
}

it('whether a schedule ran on a day is answered by one week', async () => {
  const fixed = [records.tenants[0], messageIdFloor(NOW_MS - 8 * DAY), messageIdFloor(NOW_MS - 7 * DAY), 101, 101];
  expect(await weeksOf('select-run-page', fixed, { scheduleIds: ['s'] })).toEqual(['20260608']);
});

it('counting a night takes one week', async () => {
  const fixed = [records.tenants[0], messageIdFloor(NOW_MS - DAY), messageIdFloor(NOW_MS), 1_000];
  expect(await weeksOf('count-runs', fixed)).toEqual(['20260615']);
});

it('one message and its attempts are looked for in one week', async () => {
  const id = messageIdFloor(NOW_MS);
  expect(await weeksOf('select-message', [records.tenants[0], id])).toEqual(['20260615']);
  expect(await weeksOf('select-marks-of-messages', [records.tenants[0], [id]])).toEqual(['20260615']);
  expect(await weeksOf('select-attempts-of', [records.tenants[0], id, 10])).toEqual(['20260615']);
  expect(await weeksOf('select-runs', [records.tenants[0], [id], 0])).toEqual(['20260615']);
  expect(await weeksOf('select-attempts', [[id], [1]])).toEqual(['20260615']);
});

it('dead letters and failed attempts are not looked for in weeks to come', async () => {
  const bound = messageIdFloor(NOW_MS + DAY);
  const letters = await weeksOf('select-dead-letter-page', [
    records.tenants[0],
    bound,
    null,
    null,
    null,
    null,
    101,
    101,
  ]);
  expect(letters.at(-1)).toBe('20260615');
  const stretch = [timestamp(NOW_MS - DAY), timestamp(NOW_MS)];
  const attempts = await weeksOf('select-attempt-marks', [records.tenants[0], ...stretch, bound, 100]);
  expect(attempts.at(-1)).toBe('20260615');
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
  const from = timestamp(NOW_MS - 10 * DAY);
  const until = timestamp(NOW_MS - 9.9 * DAY);
  const fixed = [records.tenants[0], from, until, from, until, from, until, messageIdFloor(0), HIGHEST_ID, 2_000];
  const { text, values } = withFilter('select-message-marks', fixed, {});
  const rows = await records.database.text<{ 'QUERY PLAN': string }>(`explain (analyze, format text) ${text}`, values);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/Bitmap Heap Scan on messages_20260601/);
  expect(plan).not.toMatch(/Seq Scan on messages_20260(525|601|608)/);
});

it('a millisecond of events is found in each week by the indexes of time, and not by walking ids', async () => {
  const moment = [timestamp(NOW_MS - 10 * DAY), timestamp(NOW_MS - 10 * DAY + 1)];
  const fixed = [records.tenants[0], ...moment, ...moment, ...moment, messageIdFloor(0), HIGHEST_ID, 2_000, true];
  const { text, values } = withFilter('select-message-marks-of-moment', fixed, {});
  const rows = await records.database.text<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
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
  const fixed = [records.tenants[0], messageIdFloor(0), messageIdFloor(NOW_MS), 16, 16];
  const { text, values } = withFilter('select-run-page', fixed, { scheduleIds: ['busy'] });
  const rows = await records.database.text<{ 'QUERY PLAN': string }>(`explain (analyze, format text) ${text}`, values);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
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
  const fixed = [tenantId, bounds.lowId, bounds.belowId, 2_000, 16];
  const { text, values } = withFilter('select-run-page', fixed, many.filter, many.byWalking);
  const rows = await records.database.text<{ 'QUERY PLAN': string }>(`explain (analyze, format text) ${text}`, values);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
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
  const stretch = [timestamp(NOW_MS - 10 * DAY), timestamp(NOW_MS - 10 * DAY)];
  const values = [records.tenants[0], 'busy', ...stretch, messageIdFloor(NOW_MS - 10 * DAY), 7, 5];
  const rows = await records.database.text<{ 'QUERY PLAN': string }>(
    `explain (analyze, format text) ${sql('select-occurrence-around')}`,
    values,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const read = [...plan.matchAll(/ on messages_\d+ .*?actual.*?rows=(\d+)/g)].map((match) => Number(match[1]));
  expect(Math.max(...read), plan).toBe(7);
  expect(read, plan).toContain(5);
});
