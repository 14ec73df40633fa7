// Issue 12, 1: a transaction that a frozen or vanished node left open holds up nobody for long: neither the shards' next owner nor those who
// record other outcomes.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { transactionLimits } from '../../../src/compose/transaction-limits.js';
import { Database, type Queryable } from '../../../src/postgres/database.js';
import { connectionName, endAbandoned, grantEpochs } from '../../../src/postgres/shards/epochs.js';
import { recordOutcomes } from '../../../src/postgres/messages/outcomes.js';
import { aMessage, anOutcome, openRecorder, type OpenRecorder } from '../../kit/messages.js';
import { processTime } from '../../../src/time/process-time.js';

const FORMER = 'former-00000001';
const NEXT = 'next-00000002';

let table: OpenRecorder;
let former: Database;
beforeAll(async () => {
  table = await openRecorder();
  former = new Database({
    time: processTime,
    url: table.url,
    name: connectionName(FORMER),
    limits: { idleMs: 1_000, lockMs: 2_000, statementMs: 3_000 },
    poolSize: 2,
    timeoutMs: 5_000,
    onError: () => undefined,
  });
});
afterAll(async () => {
  await former.close();
  await table.close();
});

const thawed: (() => void)[] = [];
afterEach(() => thawed.splice(0).forEach((thaw) => thaw()));

/** A node that stands still after a statement of its transaction. Resolves when it does; `tries` counts how often it came so far. */
async function frozenAfter(work: (connection: Queryable) => Promise<unknown>) {
  const state = { tries: 0 };
  let done: Promise<unknown> = Promise.resolve();
  await new Promise<void>((frozen) => {
    done = former.transaction(async (connection) => {
      await work(connection);
      state.tries += 1;
      if (state.tries > 1) return;
      frozen();
      await new Promise<void>((thaw) => thawed.push(thaw));
      await connection.text('select 1');
    });
  });
  // Most tests do not wait for how it ends.
  done.catch(() => undefined);
  return { state, done };
}

const lockShard = (shard: number) => (connection: Queryable) =>
  connection.text('select 1 from shards where shard = $1 for share', [shard]);

describe('the shards of a node that froze within a transaction', () => {
  it('are granted to the next owner, save the one that it locked, and that one when its transaction was ended', async () => {
    await grantEpochs(table.database, FORMER, [0, 1, 2]);
    const { state, done } = await frozenAfter(lockShard(1));

    expect([...(await grantEpochs(table.database, NEXT, [0, 1, 2])).keys()].sort()).toEqual([0, 2]);
    expect(await endAbandoned(table.database, [0, 1, 2], 60_000)).toEqual([]);
    expect(await endAbandoned(table.database, [0], 0)).toEqual([]);
    await expect
      .poll(() => endAbandoned(table.database, [1], 10))
      .toEqual([{ name: connectionName(FORMER), idleMs: expect.any(Number) as number, ended: true }]);
    await expect.poll(async () => [...(await grantEpochs(table.database, NEXT, [1])).keys()]).toEqual([1]);

    thawed.splice(0).forEach((thaw) => thaw());
    await expect(done).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
    expect(state.tries).toBe(1);
  });

  it('are free when its transaction has stood still for half a lease, whether anybody ends it or not', async () => {
    await grantEpochs(table.database, FORMER, [3]);
    const { state, done } = await frozenAfter(lockShard(3));
    await expect.poll(() => grantEpochs(table.database, NEXT, [3]), { timeout: 5_000 }).toEqual(new Map([[3, 2]]));
    // It thaws, hears that it was ended, and does it again.
    thawed.splice(0).forEach((thaw) => thaw());
    await done;
    expect(state.tries).toBe(2);
  });
});

it('an outcome waits for a frozen transaction with the same message no longer than that may stand still', async () => {
  const message = aMessage({ tenantId: table.tenantId });
  await table.recorder.accept([{ message, keys: [] }]);
  await frozenAfter((connection) => connection.text('select 1 from messages where id = $1 for update', [message.id]));
  const [recorded] = await recordOutcomes(table.database, { idempotencyMs: 1_000 }, [
    anOutcome(message, { state: 'failed', error: 'refused' }),
  ]);
  expect(recorded?.taken).toBe(true);
});

it.each([300, 5_000, 60_000])(
  'of a lease of %i ms: it stands still for less than others wait for its locks',
  (leaseMs) => {
    const { idleMs, lockMs, statementMs } = transactionLimits(leaseMs);
    expect(idleMs).toBeLessThan(lockMs);
    expect(lockMs).toBeLessThan(statementMs);
    if (leaseMs >= 5_000) expect(statementMs).toBeLessThan(leaseMs);
  },
);
