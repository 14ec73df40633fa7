// Issue 12, entries 7 and 12: which rows and which weeks the statements lock, and in what order.
//
// Whoever locks several rows locks them in the order of their keys: while it waits for one of them, it has those before and none of those
// behind. Two that do so can never lock each other out. Firing locks schedules as it finds them; whoever else takes several does not wait.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Params, Queryable } from '../../../src/postgres/database.js';
import { messageIdFloor } from '../../../src/domain/ids.js';
import type { NextState } from '../../../src/domain/schedule-change.js';
import { messageColumns } from '../../../src/postgres/messages/message-columns.js';
import { lookUntil, releaseHeld } from '../../../src/postgres/messages/outcomes.js';
import { dropOldPartitions, ensurePartitions, weekStartMs } from '../../../src/postgres/partitions.js';
import {
  type BatchedSchedule,
  type BatchResult,
  saveScheduleBatch,
} from '../../../src/postgres/schedules/schedule-batches.js';
import { aMessage, openRecorder, type OpenRecorder } from '../../kit/messages.js';

const DAY = 86_400_000;
const WEEK = 7 * DAY;
const HIGHEST_ID = 'f'.repeat(32);

let table: OpenRecorder;
beforeAll(async () => {
  table = await openRecorder();
});
afterAll(() => table.close());

interface Lockers {
  /** A row of its key, to be locked by others: $1 key. */
  readonly row: string;
  /** In the order in which they are to be locked. */
  readonly keys: readonly unknown[];
  /** Runs the statement for the keys, given in reverse. */
  readonly run: (connection: Queryable) => Promise<unknown>;
}

class RolledBack extends Error {}

/** Runs the statement while another transaction has the middle one of its rows; gives the keys that it has locked then. */
async function lockedWhileWaiting({ row, keys, run }: Lockers): Promise<unknown[]> {
  const { database } = table;
  const middle = keys[Math.floor(keys.length / 2)];
  const locked: unknown[] = [];
  let running: Promise<unknown> = Promise.resolve();
  await database.transaction(async (holder) => {
    await holder.text(`${row} for update`, [middle]);
    running = database
      .transaction(async (connection) => {
        await run(connection);
        throw new RolledBack();
      })
      .catch((error: unknown) => {
        if (!(error instanceof RolledBack)) throw error;
      });
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => database.text(waits), { interval: 5, timeout: 5_000 }).toHaveLength(1);
    for (const key of keys) {
      if (key === middle) continue;
      if ((await database.text(`${row} for update skip locked`, [key])).length === 0) locked.push(key);
    }
  });
  await running;
  return locked;
}

const MESSAGE = 'select 1 from messages where id = $1';
const SHARD = 'select 1 from shards where shard = $1';
const KEY = 'select 1 from idempotency_keys where key = $1';
const KEYS = ['a', 'b', 'c', 'd', 'e'];
const SHARDS = [0, 1, 2, 3, 4];

const reversed = <Value>(values: readonly Value[]): Value[] => [...values].reverse();

async function messages(given: Partial<Parameters<typeof aMessage>[0]> & { held?: boolean } = {}): Promise<string[]> {
  const { held = false, ...rest } = given;
  const made = Array.from({ length: 5 }, (_, n) => aMessage({ tenantId: table.tenantId, ...rest, ...each(rest, n) }));
  await table.database.run(
    'insert-messages',
    messageColumns(made.map((message) => ({ message, held, skipped: null }))),
  );
  return made.map(({ id }) => id).sort();
}

function each({ scheduleId }: { scheduleId?: string | null }, n: number): { scheduleId?: string } {
  return scheduleId == null ? {} : { scheduleId: `${scheduleId}-${n}` };
}

function aBatched(id: string, cron: string): BatchedSchedule {
  const { destination, method, headers, body, maxRetries, timeoutMs, ...message } = aMessage();
  const { retryDelay, callback, failureCallback, labels, redact, callerIp } = message;
  const sent = { destination, method, headers, body, maxRetries, timeoutMs };
  const options = { retryDelay, callback, failureCallback, labels, redact, callerIp };
  const times = {
    cron,
    timeZone: null,
    anchorMs: null,
    delayMs: 0,
    windowMs: 0,
    startAtMs: null,
    endAtMs: null,
    keyTemplate: null,
  };
  const policies = { misfire: 'once', misfireWindowMs: 0, overlap: 'allow' } as const;
  return { id, shard: 0, paused: false, definition: { ...sent, ...options, ...times, ...policies } };
}

async function keysOf(tag: string): Promise<{ keys: string[]; holders: Map<string, string> }> {
  const keys = KEYS.map((key) => `${tag}-${key}`);
  const ids = await messages();
  const holders = new Map(keys.map((key, n) => [key, ids[n] ?? '']));
  const all = [...keys].reverse();
  await table.database.run('claim-keys', {
    tenantIds: all.map(() => table.tenantId),
    scopes: all.map(() => 'key'),
    keys: all,
    messageIds: all.map((key) => holders.get(key) ?? ''),
    expiresAtMs: all.map(() => null),
    nowMs: table.clock.value,
  });
  return { keys, holders };
}

const lockers: Record<string, () => Promise<Lockers>> = {
  'fire-schedules, of several shards': () =>
    Promise.resolve({
      row: SHARD,
      keys: SHARDS,
      run: (connection) =>
        connection.run('fire-schedules', {
          ...{ fencedShards: reversed(SHARDS), epochs: SHARDS.map(() => 0), tenantIds: [], ids: [], shards: [] },
          ...{ generations: [], expectedFireAtMs: [], nextFireAtMs: [], lastFireAtMs: [] },
        }),
    }),
  'renew-epochs': () => shardsOf((connection, held) => connection.run('renew-epochs', held)),
  'overtake-epochs': () => shardsOf((connection, held) => connection.run('overtake-epochs', held)),
  'cancel-messages': async () => {
    const { tenantId, clock } = table;
    const keys = await messages();
    const params = { tenantId, ids: reversed(keys), nowMs: clock.value };
    return { row: MESSAGE, keys, run: (connection) => connection.run('cancel-messages', params) };
  },
  'take-dead-letters': async () => {
    const keys = await messages();
    await table.database.text(`update messages set state = 'failed', in_dlq = true where id = any($1)`, [keys]);
    const params = { tenantId: table.tenantId, ids: reversed(keys) };
    return { row: MESSAGE, keys, run: (connection) => connection.run('take-dead-letters', params) };
  },
  'release-held': async () => {
    const keys = await messages({ scheduleId: 'released', overlap: 'queue', held: true });
    const of = KEYS.map((_, n) => `released-${n}`);
    const params = { tenantIds: of.map(() => table.tenantId), scheduleIds: reversed(of), untilId: HIGHEST_ID };
    return { row: MESSAGE, keys, run: (connection) => connection.run('release-held', params) };
  },
  'expire-keys': async () => {
    const { keys, holders } = await keysOf('expiring');
    const run: Lockers['run'] = (connection) =>
      connection.run('expire-keys', {
        tenantIds: keys.map(() => table.tenantId),
        keys: reversed(keys),
        messageIds: reversed(keys).map((key) => holders.get(key) ?? ''),
        expiresAtMs: keys.map(() => table.clock.value),
      });
    return { row: KEY, keys, run };
  },
  'repoint-keys': async () => {
    const { keys, holders } = await keysOf('repointed');
    const ids = reversed(keys).map((key) => holders.get(key) ?? '');
    const tenantIds = keys.map(() => table.tenantId);
    const params = { tenantIds, keys: reversed(keys), fromIds: ids, toIds: ids };
    const run: Lockers['run'] = (connection) => connection.run('repoint-keys', params);
    return { row: KEY, keys, run };
  },
};

async function shardsOf(
  run: (connection: Queryable, held: Params<'renew-epochs'>) => Promise<unknown>,
): Promise<Lockers> {
  await table.database.text(`update shards set node = 'n' where shard < 5`);
  const held = { node: 'n', shards: reversed(SHARDS), epochs: SHARDS.map(() => 0) };
  return { row: SHARD, keys: SHARDS, run: (connection) => run(connection, held) };
}

describe('issue 12, entry 12: rows are locked in the order of their keys', () => {
  it.each(Object.keys(lockers))('by %s', async (name) => {
    const given = await lockers[name]!();
    expect(await lockedWhileWaiting(given)).toEqual(given.keys.slice(0, 2));
  });

  it('a batch of schedules waits for nobody while it holds some of them', async () => {
    const { database, tenantId, clock } = table;
    const onGroup = (): Promise<void> => Promise.resolve();
    const decide = (): NextState => ({ state: 'active', nextFireAtMs: clock.value + DAY });
    const save = (cron: string): Promise<BatchResult[]> =>
      saveScheduleBatch(
        database,
        tenantId,
        KEYS.map((id) => aBatched(id, cron)),
        { decide, nowMs: clock.value, onGroup },
      );
    await save('0 0 1 1 *');
    const edited = 'select id from schedules where generation = 2 order by id';
    let saving: Promise<BatchResult[]> = Promise.resolve([]);
    await database.transaction(async (firing) => {
      await firing.text("select 1 from schedules where id = 'c' for update");
      saving = save('0 0 2 1 *');
      await expect.poll(() => database.text(edited)).toEqual(['a', 'b', 'd', 'e'].map((id) => ({ id })));
    });
    expect((await saving).map(({ kind }) => kind)).toEqual(KEYS.map(() => 'edited'));
    expect(await database.text(edited)).toHaveLength(5);
  });

  it('a week that is dropped is locked after the whole, as by those who read and write it', async () => {
    const { database } = table;
    const oldMs = weekStartMs(table.clock.value - 30 * WEEK);
    await ensurePartitions(database, { fromMs: oldMs, untilMs: oldMs });
    const name = `messages_${new Date(oldMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
    let dropping: Promise<string[]> = Promise.resolve([]);
    await database.transaction(async (reader) => {
      await reader.text('select 1 from only messages');
      dropping = dropOldPartitions(database, oldMs + 2 * WEEK);
      const held = `select l.relation::regclass::text as name, granted from pg_locks l join pg_database d on d.oid = l.database
        where datname = current_database() and mode = 'AccessExclusiveLock' and l.relation is not null`;
      await expect.poll(() => database.text(held), { interval: 5 }).toEqual([{ name: 'messages', granted: false }]);
      // Whoever reads the week meanwhile waits for nobody that waits for it.
      expect(await reader.text('select 1 from messages where id = $1', [messageIdFloor(oldMs)])).toEqual([]);
    });
    expect(await dropping).toContain(name);
  });
});

describe('issue 12, entry 7: statements lock the weeks that they need', () => {
  /** Weeks after the next one that the statement locks. */
  async function laterWeeks(run: (connection: Queryable) => Promise<unknown>): Promise<string[]> {
    const until = `messages_${new Date(weekStartMs(table.clock.value + WEEK)).toISOString().slice(0, 10).replaceAll('-', '')}`;
    return table.database.transaction(async (connection) => {
      await run(connection);
      const rows = await connection.text<{ name: string }>(
        `select distinct relname as name from pg_locks join pg_class on pg_class.oid = relation
          where pid = pg_backend_pid() and relkind = 'r' and relname ~ '^(messages|attempts)_' order by 1`,
      );
      return rows.map(({ name }) => name).filter((name) => name.replace('attempts', 'messages') > until);
    });
  }

  it('letting held occurrences go', async () => {
    const nowMs = table.clock.value;
    const of = [{ tenantId: table.tenantId, scheduleId: 'released-1' }];
    expect(await laterWeeks((connection) => releaseHeld(connection, of, lookUntil(nowMs)))).toEqual([]);
  });

  it('looking for occurrences under way', async () => {
    const params = { tenantIds: [table.tenantId], ids: ['released-1'], untilId: lookUntil(table.clock.value) };
    expect(await laterWeeks((connection) => connection.run('select-under-way', params))).toEqual([]);
  });
});
