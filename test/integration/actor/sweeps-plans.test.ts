// What sweeps read of a table of sixty weeks: the weeks in which work comes due, from an index, and nothing of the far ones.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageIdFloor } from '../../../src/domain/ids.js';
import { dropOldPartitions } from '../../../src/postgres/partitions.js';
import { planOf } from '../../kit/plans.js';
import { DAY, HOUR, MINUTE, Records } from '../../kit/records.js';
import { timestamp } from '../../kit/timestamp.js';

const NOW_MS = Date.parse('2026-06-17T12:00:00Z');

let records: Records;
beforeAll(async () => {
  records = await Records.open(NOW_MS, 30);
  // A few rows in each week, most of them delivered where they are past, and all of them pending where they are to come.
  await records.database.text(
    `insert into messages (id, tenant_id, shard, kind, state, due_at, next_attempt_at, created_at, destination, method, max_retries, timeout_ms)
     select (lpad(to_hex(ms), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid, $2, n % 16, 'message',
       case when ms < $1::bigint and n % 50 > 0 then 'delivered' else 'pending' end, at, at, $3::timestamptz, repeat('x', 100), 'POST', 3, 1000
     from (select n, ms, to_timestamp(ms / 1000.0) as at from (
       select n, ($1::bigint + (n - 6000) * 3000000::bigint) as ms from generate_series(1, 12000) n) spread) timed`,
    [NOW_MS, records.tenants[0], timestamp(NOW_MS - 200 * DAY)],
  );
  await records.database.text(
    `insert into schedules (tenant_id, id, shard, next_fire_at, cron, anchor_at, destination, method, max_retries, timeout_ms, misfire,
       misfire_window_ms, overlap, created_at, updated_at)
     select $2, 's' || n, n % 16, to_timestamp($1::bigint / 1000.0) + n * interval '1 hour', '@daily', now(), 'https://a.test/x', 'POST', 3,
       1000, 'once', 1000, 'allow', now(), now()
     from generate_series(1, 8000) n`,
    [NOW_MS, records.tenants[0]],
  );
  await records.database.text('vacuum analyze messages');
  await records.database.text('vacuum analyze schedules');
});
afterAll(() => records.close());

const LIMIT = { shard: 3, limit: 500 };

/** The first and the last week hold a page or two, which any plan reads as a whole. */
const SCANNED_WEEK = /Seq Scan on messages_2026/;

const weeksIn = (plan: string): string[] =>
  [...new Set([...plan.matchAll(/ on messages_(\d{8})/g)].map((match) => match[1]!))].sort();

describe('a sweep', () => {
  it('that promotes reads the weeks between its horizons from the index of pending rows, in order and without sorting', async () => {
    const fromId = messageIdFloor(NOW_MS + DAY);
    const horizonAtMs = NOW_MS + DAY + 2 * HOUR;
    const params = { ...LIMIT, fromId, untilId: messageIdFloor(horizonAtMs), horizonAtMs };
    const plan = await planOf(records.database, '', 'select-messages-to-promote', params);
    expect(weeksIn(plan)).toEqual(['20260615']);
    expect(plan).toMatch(/Index Scan using messages_20260615_shard_id_idx/);
    expect(plan).not.toMatch(/Seq Scan|Sort/);
  });

  it('that refills an empty queue reads no further than the horizon', async () => {
    const horizonAtMs = NOW_MS + DAY;
    const params = { ...LIMIT, fromId: messageIdFloor(0), untilId: messageIdFloor(horizonAtMs), horizonAtMs };
    const plan = await planOf(records.database, '', 'select-messages-to-promote', params);
    expect(weeksIn(plan).at(-1)).toBe('20260615');
    expect(plan).not.toMatch(SCANNED_WEEK);
  });

  it('that rescues reads pending rows up to now from their index', async () => {
    const plan = await planOf(records.database, '', 'select-messages-to-rescue', {
      ...LIMIT,
      afterId: messageIdFloor(0),
      untilId: messageIdFloor(NOW_MS),
      overdueAtMs: NOW_MS - 5_000,
      createdBeforeMs: NOW_MS - MINUTE,
      occurrencesBeforeMs: NOW_MS - 5_000,
    });
    expect(weeksIn(plan).at(-1)).toBe('20260615');
    expect(plan).toMatch(/shard_id_idx/);
    expect(plan).not.toMatch(SCANNED_WEEK);
  });

  it('that recurs reads the schedules that come due, from their index', async () => {
    const stretch = { fromMs: NOW_MS + DAY, afterTenantId: 0, afterId: '', untilMs: NOW_MS + DAY + 2 * HOUR };
    const plan = await planOf(records.database, '', 'select-schedules-to-promote', { ...LIMIT, ...stretch });
    expect(plan).toMatch(/Index Scan using schedules_due/);
    expect(plan).not.toMatch(/Seq Scan/);
  });
});

describe('the export of pending messages', () => {
  it('reads their index in order', async () => {
    const plan = await planOf(records.database, '', 'select-pending-places', {
      afterShard: 3,
      afterId: messageIdFloor(0),
      limit: 2_000,
      tenantId: records.tenants[0],
      kinds: ['message'],
    });
    expect(plan).toMatch(/Merge Append/);
    expect(plan).not.toMatch(SCANNED_WEEK);
  });
});

describe('a week', () => {
  it('leaves room on its pages, and is vacuumed after some thousand changes', async () => {
    const [week] = await records.database.text<{ reloptions: string[] }>(
      "select reloptions from pg_class where relname = 'messages_20260615'",
    );
    expect(week?.reloptions).toEqual(
      expect.arrayContaining([
        'fillfactor=90',
        'autovacuum_vacuum_scale_factor=0.02',
        'autovacuum_vacuum_threshold=1000',
      ]),
    );
  });

  it('that is older than what is kept stays as long as one message in it is unfinished', async () => {
    const keptFromMs = NOW_MS - 90 * DAY;
    expect(await dropOldPartitions(records.database, keptFromMs)).not.toContain('messages_20260105');
    await records.database.text("update messages set state = 'delivered' where state = 'pending' and due_at < $1", [
      timestamp(keptFromMs),
    ]);
    const dropped = await dropOldPartitions(records.database, keptFromMs);
    expect(dropped).toContain('messages_20260105');
    expect(dropped.filter((name) => name > 'messages_20260312')).toEqual([]);
  });
});
