// Weekly partitions of messages and attempts: made ahead of time, dropped whole when their records are old enough.

import { CarillonError } from '../domain/errors.js';
import { messageIdFloor, messageIdTimeMs } from '../domain/ids.js';
import { codeOf, type Database, type Queryable } from './database.js';

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
/** 1970-01-05 was the first Monday: weeks begin on Mondays, 00:00 UTC. */
const FIRST_MONDAY_MS = 4 * 24 * 60 * 60 * 1_000;

const PARTITIONED = ['messages', 'attempts'] as const;

/**
 * How a partition is stored; a partitioned table has no such settings to give on. Messages change: room on each page for their next
 * versions, and vacuum by the number of rows that changed (as in migrations/0002). Attempts are only ever inserted.
 */
const STORAGE: Readonly<Record<string, string>> = {
  messages: `with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.05)`,
};

/** Like the lock of migrations: ours alone, held for one transaction. */
const PARTITION_LOCK = 7_117_002;

/** A change of partitions waits no longer than this for whoever reads them, since everybody else waits behind it. */
const LOCK_WAIT = '1s';

export interface PartitionBounds {
  /** Partitions reach from the week of this time … (milliseconds since the epoch) */
  readonly fromMs: number;
  /** … to the week of this one. */
  readonly untilMs: number;
  /** Those after the week of this time may be left to the next time; all must be there when left out. */
  readonly neededUntilMs?: number;
}

/** Told the names of partitions that were left to the next time, because somebody held a lock on them for long. */
export type OnPostponed = (names: readonly string[]) => void;

/** The start of the week that holds a time, in milliseconds since the epoch. */
export function weekStartMs(timeMs: number): number {
  return Math.floor((timeMs - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
}

/**
 * Makes the missing partitions. Any number of nodes may do it at once; accepts and deliveries go on meanwhile. Throws POSTGRES_UNAVAILABLE
 * when one that is needed cannot be made now. Gives the names of those it made.
 */
export async function ensurePartitions(
  database: Database,
  bounds: PartitionBounds,
  onPostponed: OnPostponed = () => undefined,
): Promise<string[]> {
  const missing: MissingPartition[] = [];
  const done = await unlessLocked(database, async (connection) => {
    await connection.run('lock-partitions', { lock: PARTITION_LOCK });
    missing.splice(0, Infinity, ...(await missingPartitions(connection, bounds)));
    if (missing.length > 0) await limitLockWait(connection);
    for (const { table, name, weekMs } of missing) await makePartition(connection, table, name, weekMs);
  });
  const names = missing.map(({ name }) => name);
  if (done) return names;
  const needed = missing.filter(({ weekMs }) => weekMs <= (bounds.neededUntilMs ?? bounds.untilMs));
  if (needed.length === 0) {
    onPostponed(names);
    return [];
  }
  throw new CarillonError(
    'POSTGRES_UNAVAILABLE',
    `PostgreSQL cannot make the partition ${needed[0]?.name ?? ''}: somebody holds a lock on its parent for more than ${LOCK_WAIT}`,
  );
}

/**
 * Drops the partitions of weeks that ended before `beforeMs`, unless something in them has not ended, or ended since: what was due long ago
 * may have failed a moment ago. Gives their names.
 */
export async function dropOldPartitions(
  database: Database,
  beforeMs: number,
  onPostponed: OnPostponed = () => undefined,
): Promise<string[]> {
  const dropped: string[] = [];
  const names = await partitionNames(database);
  for (const name of names.filter((candidate) => candidate.startsWith('messages_'))) {
    const weekMs = partitionWeekMs(name);
    if (weekMs === null || weekMs + WEEK_MS > beforeMs) continue;
    if (await database.longTransaction((connection) => isKept(connection, name, beforeMs))) continue;
    // Both or none: the week is known by its messages.
    const week = PARTITIONED.map((table) => partitionName(table, weekMs));
    const found = { kept: false };
    const done = await unlessLocked(database, async (connection) => {
      await limitLockWait(connection);
      // Dropping a week locks the whole: first of all, as whoever reads or writes a week has the lock of the whole before.
      for (const part of [...PARTITIONED.map((table) => `only ${table}`), name]) {
        await connection.text(`lock table ${part} in access exclusive mode`);
      }
      // Looked at again where nobody can add to it: an occurrence that is late by weeks may have just been recorded.
      found.kept = await isKept(connection, name, beforeMs);
      if (!found.kept) await connection.text(`drop table if exists ${week.join(', ')}`);
    });
    if (found.kept) continue;
    if (done) dropped.push(...week);
    else onPostponed(week);
  }
  return dropped;
}

/**
 * Whether a week has something that has not ended, or ended since. Failed attempts end no later than their message. Asks the indexes alone:
 * a week may have tens of millions of rows, of which none is wanted.
 */
async function isKept(connection: Queryable, partition: string, sinceMs: number): Promise<boolean> {
  await connection.text('set local enable_seqscan = off');
  const pending = await connection.text(`select 1 from ${partition} where state = 'pending' limit 1`);
  if (pending.length > 0) return true;
  const since = new Date(sinceMs).toISOString();
  const ended = await connection.text(`select 1 from ${partition} where finished_at >= '${since}' limit 1`);
  return ended.length > 0;
}

/** Runs a change in one transaction. False when it was rolled back because it would have waited too long for a lock. */
async function unlessLocked(database: Database, change: (connection: Queryable) => Promise<void>): Promise<boolean> {
  try {
    await database.longTransaction(change);
    return true;
  } catch (error) {
    if (codeOf(error) === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

async function limitLockWait(connection: Queryable): Promise<void> {
  await connection.text(`set local lock_timeout = '${LOCK_WAIT}'`);
}

/**
 * Runs a write of messages due at the given times, and once more after making their partitions when one was missing: only work that is
 * older than what is kept, or later than anything may be asked for, has none yet.
 */
export async function withPartitions<Result>(
  database: Database,
  dueTimesMs: readonly number[],
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    if (!isMissingPartition(error)) throw error;
  }
  for (const weekMs of new Set(dueTimesMs.map(weekStartMs))) {
    await ensurePartitions(database, { fromMs: weekMs, untilMs: weekMs });
  }
  return write();
}

/** SQLSTATEs. */
const CHECK_VIOLATION = '23514';
const LOCK_NOT_AVAILABLE = '55P03';

/** A check that no constraint is named for: the row fits no partition. The text of the error may be in any language. */
function isMissingPartition(error: unknown): boolean {
  if (codeOf(error) !== CHECK_VIOLATION) return false;
  return !(error instanceof Error && 'constraint' in error && error.constraint !== undefined);
}

interface MissingPartition {
  readonly table: string;
  readonly name: string;
  readonly weekMs: number;
}

async function missingPartitions(connection: Queryable, bounds: PartitionBounds): Promise<MissingPartition[]> {
  const existing = new Set(await partitionNames(connection));
  const missing: MissingPartition[] = [];
  for (let weekMs = weekStartMs(bounds.fromMs); weekMs <= bounds.untilMs; weekMs += WEEK_MS) {
    for (const table of PARTITIONED) {
      const name = partitionName(table, weekMs);
      if (!existing.has(name)) missing.push({ table, name, weekMs });
    }
  }
  return missing;
}

async function partitionNames(connection: Queryable): Promise<string[]> {
  const rows = await connection.run('select-partitions', { tables: PARTITIONED });
  return rows.map((row) => row.name);
}

function partitionName(table: string, weekMs: number): string {
  return `${table}_${new Date(weekMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

function partitionWeekMs(name: string): number | null {
  const match = /_(\d{4})(\d{2})(\d{2})$/.exec(name);
  return match === null ? null : Date.parse(`${match[1] ?? ''}-${match[2] ?? ''}-${match[3] ?? ''}T00:00:00Z`);
}

/** Made on its own and attached, since attaching does not lock out the readers and writers of the other weeks. */
async function makePartition(connection: Queryable, table: string, name: string, weekMs: number): Promise<void> {
  const from = messageIdFloor(weekMs);
  const to = messageIdFloor(weekMs + WEEK_MS);
  await connection.text(
    `create table if not exists ${name} (like ${table} including defaults including constraints) ${STORAGE[table] ?? ''}`,
  );
  await connection.text(`alter table ${table} attach partition ${name} for values from ('${from}') to ('${to}')`);
  // Attached indexes are made like their parents, whose storage cannot be changed; see summaries.ts.
  const indexes = await connection.run('select-brin-indexes', { partition: name });
  for (const index of indexes) await connection.text(`alter index ${index.name} set (autosummarize = off)`);
}

/** The week of an id's partition, in milliseconds since the epoch: for tests and tools. */
export function weekOfMessageMs(id: string): number {
  return weekStartMs(messageIdTimeMs(id));
}
