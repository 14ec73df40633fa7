// Transactions that touch the same rows wait for each other, whatever order they name them in: none of them is rolled back.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { timestamp } from '../../src/table/message-columns.js';
import { sql } from '../../src/table/sql.js';
import { aMessage, openTable, type OpenTable } from '../support/messages.js';

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
