// Transactions that touch the same rows wait for each other, whatever order they name them in. One that PostgreSQL rolls back for the sake
// of another is tried again.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordOutcomes } from '../../../src/postgres/messages/outcomes.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { openDatabase } from '../../kit/node.js';
import { planOf } from '../../kit/plans.js';

let table: OpenRecorder;
beforeAll(async () => {
  table = await openRecorder();
});
afterAll(() => table.close());

async function accepted(key: string): Promise<string> {
  const message = aMessage({ tenantId: table.tenantId, idempotencyKey: key });
  await table.recorder.accept([{ message, keys: [{ scope: 'key', key }] }]);
  return message.id;
}

/** What is locked comes sorted, from a sort or from the partitions' indexes (by tenant and id) in turn. */
const IN_ORDER = /LockRows\s+->\s+(?:Sort|Merge Append|Append|Index Scan using messages_\d+_tenant_id_id_idx)/;

it('a cancel locks messages in the order of their ids', async () => {
  const ids = [await accepted('one'), await accepted('two')].reverse();
  const params = { tenantId: table.tenantId, ids, nowMs: Date.now() };
  expect(await planOf(table.database, '(costs off)', 'cancel-messages', params)).toMatch(IN_ORDER);
  expect(await table.database.run('cancel-messages', params)).toHaveLength(2);
  expect(await table.database.run('cancel-messages', params)).toEqual([]);
});

it('keys expire in the order in which they are claimed', async () => {
  const ids = [await accepted('b'), await accepted('a')];
  const columns = { tenantIds: ids.map(() => table.tenantId), keys: ['b', 'a'], messageIds: ids };
  const params = { ...columns, expiresAtMs: ids.map(() => Date.now()) };
  expect(await planOf(table.database, '(costs off)', 'expire-keys', params)).toMatch(IN_ORDER);
  await table.database.run('expire-keys', params);
  const rows = await table.database.text('select key from idempotency_keys where expires_at is not null order by key');
  expect(rows).toEqual([{ key: 'a' }, { key: 'b' }]);
});

it('groups of outcomes of the same messages, in any order, are all recorded', async () => {
  const messages = Array.from({ length: 60 }, () => aMessage({ tenantId: table.tenantId, idempotencyKey: null }));
  await table.recorder.accept(messages.map((message) => ({ message, keys: [] })));
  const database = openDatabase(table.url);
  for (let round = 1; round <= 40; round++) {
    const outcomes = messages.map((message) =>
      anOutcome(message, { state: 'pending', attempt: round, nextAttemptAtMs: Date.now() }),
    );
    const groups = [outcomes, [...outcomes].reverse(), [...outcomes.slice(30), ...outcomes.slice(0, 30)]];
    const recorded = await Promise.all(
      groups.map((group) => recordOutcomes(database, { idempotencyMs: 1_000 }, group)),
    );
    expect(recorded.flat().every(({ taken }) => taken)).toBe(true);
  }
  await database.close();
  const ids = messages.map(({ id }) => id);
  const [attempts] = await table.database.text(
    'select count(*)::int as count, max(attempt)::int as last from attempts where message_id = any($1::uuid[])',
    [ids],
  );
  expect(attempts).toEqual({ count: 60 * 40, last: 40 });
});

it('of two transactions that lock each other out, the one that is rolled back is tried again', async () => {
  const ids = [await accepted('first'), await accepted('second')];
  const database = openDatabase(table.url);
  let tries = 0;
  let holders = 0;
  let bothHold = (): void => undefined;
  const met = new Promise<void>((resolve) => (bothHold = resolve));
  const lock = (order: readonly string[]): Promise<void> =>
    database.transaction(async (connection) => {
      tries++;
      await connection.text('select 1 from messages where id = $1 for update', [order[0]]);
      holders++;
      if (holders === 2) bothHold();
      await met;
      await connection.text('select 1 from messages where id = $1 for update', [order[1]]);
    });
  await Promise.all([lock(ids), lock([...ids].reverse())]);
  await database.close();
  expect(tries).toBe(3);
});
