// Transactions that touch the same rows wait for each other, whatever order they name them in: none of them is rolled back.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { timestamp } from '../../src/table/message-columns.js';
import { recordOutcomes } from '../../src/table/outcomes.js';
import { sql } from '../../src/table/sql.js';
import { aMessage, anOutcome, openTable, type OpenTable } from '../support/messages.js';
import { openDatabase } from '../support/node.js';

let table: OpenTable;
beforeAll(async () => {
  table = await openTable();
});
afterAll(() => table.close());

async function accepted(key: string): Promise<string> {
  const message = aMessage({ tenantId: table.tenantId, idempotencyKey: key });
  await table.recorder.accept([{ message, keys: [{ scope: 'key', key }] }]);
  return message.id;
}

/** What is locked comes sorted, from a sort or from the partitions' indexes (by tenant and id) in turn. */
const IN_ORDER = /LockRows\s+->\s+(?:Sort|Merge Append|Append|Index Scan using messages_\d+_tenant_id_id_idx)/;

async function plan(name: string, values: unknown[]): Promise<string> {
  const lines = await table.database.text<{ 'QUERY PLAN': string }>(`explain (costs off) ${sql(name)}`, values);
  return lines.map((line) => line['QUERY PLAN']).join('\n');
}

it('a cancel locks messages in the order of their ids', async () => {
  const ids = [await accepted('one'), await accepted('two')].reverse();
  const values = [table.tenantId, ids, timestamp(Date.now())];
  expect(await plan('cancel-messages', values)).toMatch(IN_ORDER);
  expect(await table.database.run('cancel-messages', values)).toHaveLength(2);
  expect(await table.database.run('cancel-messages', values)).toEqual([]);
});

it('keys expire in the order in which they are claimed', async () => {
  const ids = [await accepted('b'), await accepted('a')];
  const times = ids.map(() => timestamp(Date.now()));
  const values = [ids.map(() => table.tenantId), ['b', 'a'], ids, times];
  expect(await plan('expire-keys', values)).toMatch(IN_ORDER);
  await table.database.run('expire-keys', values);
  const rows = await table.database.text('select key from idempotency_keys where expires_at is not null order by key');
  expect(rows).toEqual([{ key: 'a' }, { key: 'b' }]);
});

it('groups of outcomes of the same messages, in any order, do not lock each other out', async () => {
  const messages = Array.from({ length: 60 }, () => aMessage({ tenantId: table.tenantId, idempotencyKey: null }));
  await table.recorder.accept(messages.map((message) => ({ message, keys: [] })));
  const outcomes = messages.map((message) => anOutcome(message, { state: 'pending', nextAttemptAtMs: Date.now() }));
  const database = openDatabase(table.url);
  for (let round = 0; round < 40; round++) {
    const groups = [outcomes, [...outcomes].reverse(), [...outcomes.slice(30), ...outcomes.slice(0, 30)]];
    await Promise.all(groups.map((group) => recordOutcomes(database, { idempotencyMs: 1_000 }, group)));
  }
  const pids = await Promise.all(
    Array.from({ length: 4 }, () => database.text<{ pid: number }>('select pg_backend_pid() as pid, pg_sleep(0.05)')),
  );
  await database.close();
  // What a connection counted is there for others to read at the latest when it has ended.
  const gone = 'select 1 from pg_stat_activity where pid = any($1)';
  await expect.poll(() => table.database.text(gone, [pids.flat().map(({ pid }) => pid)])).toEqual([]);
  const [count] = await table.database.text<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  expect(count?.deadlocks).toBe(0);
});
