/**
 * Tables full of far-future work, as after months of use: so many messages, as many schedules, and a history. Each size is a database of its
 * own on the benchmark's server; with a kept data folder it is filled once and used again while its rows are still far in the future.
 */
import { readdirSync } from 'node:fs';
import pg from 'pg';
import { messageIdFloor } from '../src/domain/ids.js';
import { startCarillon, type CarillonNode } from './carillon-node.js';
import { checkClones, cloneHistory, cloneMessages, cloneSchedules, TEMPLATES, type Chunk } from './clone-rows.js';
import { sleep, type Harness } from './harness.js';
import { bodyOf } from './signed-post.js';
import type { BenchStores } from './stores.js';

export interface FilledDatabase {
  /** The course's stores, with this database. */
  readonly stores: BenchStores;
  /** Messages, and as many schedules. */
  readonly rows: number;
  /** Of the messages that lie in the future, indexes included, beyond what the same table has without any. */
  readonly messageBytes: number;
  /** Of the schedules and of what is kept about their changes, in the same way. */
  readonly scheduleBytes: number;
  /** Occurrences that ran in the last fortnight. */
  readonly history: number;
  /** How long filling it took; that of an earlier run where it is used again. */
  readonly fillSeconds: number;
  /** Separates its work in Redis from that of the other tables: a node's setting. */
  readonly prefix: Readonly<Record<string, string>>;
  /** Puts further rows in, in chunks. */
  inChunks(rows: number, work: (chunk: Chunk) => Promise<void>): Promise<void>;
  /** Takes out what a measurement put in: all that is due within a day and a half, and its schedules. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** Far enough that nothing comes due, or is promoted, while a kept table is used. */
const FIRST_DUE_MS = 2 * DAY_MS;
const LAST_DUE_MS = 364 * DAY_MS;
const USED_FOR_MS = 20 * 3_600_000;
export const HISTORY_DAYS = 14;
const CHUNK_ROWS = 100_000;
/** Loaded at once: a core for each. */
const LOADERS = 2;
/** Nobody listens there: what is loaded must not be delivered. */
export const NOWHERE = 'http://127.0.0.1:9/nowhere';
const TEMPLATE = 'template';
const MIGRATIONS = new URL('../src/postgres/migrations/', import.meta.url);
const POLL_MS = 50;

/** Opens the table with so many rows; fills it first where it has not been. */
export async function filledDatabase(harness: Harness, rows: number): Promise<FilledDatabase> {
  const shards = harness.stores.nodeSettings.CARILLON_SHARDS;
  // A table is made for one number of shards.
  const name = `rows_${rows}${shards === undefined ? '' : `_in_${shards}`}`;
  await makeDatabase(harness.stores, name);
  const stores = await onDatabase(harness.stores, name);
  const prefix = { CARILLON_REDIS_PREFIX: name };
  const filling = (await readFilling(stores)) ?? (await fill(harness, stores, rows, prefix));
  return {
    stores,
    rows,
    ...filling,
    prefix,
    tidy: () => tidy(stores),
    inChunks: (count, work) => inChunks(stores, count, work),
    close: () => stores.table.end(),
  };
}

type Filling = Pick<FilledDatabase, 'messageBytes' | 'scheduleBytes' | 'history' | 'fillSeconds'>;

async function makeDatabase({ table }: BenchStores, name: string): Promise<void> {
  const { rowCount } = await table.query('select 1 from pg_database where datname = $1', [name]);
  if (rowCount === 0) await table.query(`create database ${name} template template0`);
}

async function onDatabase(stores: BenchStores, name: string): Promise<BenchStores> {
  const url = Object.assign(new URL(stores.postgres.url), { pathname: `/${name}` }).href;
  const table = new pg.Client({ connectionString: url });
  // When a run is interrupted the server ends the connection first: the folder must be removed all the same.
  table.on('error', () => undefined);
  await table.connect();
  return { ...stores, postgres: { ...stores.postgres, url }, table };
}

/** What is known of a table that was filled before, if it can be used; what is too old, or of an older schema, is emptied. */
async function readFilling({ table }: BenchStores): Promise<Filling | null> {
  const { rows: known } = await table.query<{ known: string | null }>(`select to_regclass('bench.filling') as known`);
  if (known[0]?.known !== null) {
    const { rows } = await table.query<{ filling: Filling; age_ms: number; version: number }>(
      `select filling, (extract(epoch from now() - filled_at) * 1000)::float8 as age_ms,
         (select max(version) from carillon_migrations) as version from bench.filling`,
    );
    const [row] = rows;
    if (row !== undefined && row.age_ms < USED_FOR_MS && row.version === readdirSync(MIGRATIONS).length)
      return row.filling;
  }
  await table.query('drop schema if exists public, bench cascade');
  await table.query('create schema public');
  return null;
}

async function fill(
  harness: Harness,
  stores: BenchStores,
  rows: number,
  prefix: FilledDatabase['prefix'],
): Promise<Filling> {
  const startedAtMs = performance.now();
  const node = await startCarillon(stores, 50, [], 'node-1', prefix);
  try {
    await makeTemplates(harness, stores, node);
  } finally {
    await node.stop();
  }
  const { table } = stores;
  const empty = await sizesOf(table);
  const fromMs = Date.now() + FIRST_DUE_MS;
  const spanMs = LAST_DUE_MS - FIRST_DUE_MS;
  await inChunks(stores, rows, (chunk) => cloneMessages(chunk, fromMs, spanMs));
  await inChunks(stores, rows, (chunk) => cloneSchedules(chunk, fromMs, spanMs));
  const full = await sizesOf(table);
  await checkClones(table);
  const jobs = Math.ceil(rows / 10 / HISTORY_DAYS);
  await inChunks(stores, jobs, (chunk) => cloneHistory(chunk, Date.now(), HISTORY_DAYS));
  await table.query('vacuum (analyze)');
  await table.query('checkpoint');
  const filling: Filling = {
    messageBytes: full.messages - empty.messages,
    scheduleBytes: full.schedules - empty.schedules,
    history: jobs * HISTORY_DAYS,
    fillSeconds: Math.round((performance.now() - startedAtMs) / 1_000),
  };
  await table.query(
    'create table bench.filling (filling jsonb not null, filled_at timestamptz not null default now())',
  );
  await table.query('insert into bench.filling (filling) values ($1)', [JSON.stringify(filling)]);
  return filling;
}

/** One message, one schedule and one occurrence by way of the API, of which all rows are copies. */
async function makeTemplates(harness: Harness, { table }: BenchStores, node: CarillonNode): Promise<void> {
  const json = { 'Content-Type': 'application/json' };
  await node.publish(NOWHERE, [{ index: 0, dueAtMs: Date.now() + LAST_DUE_MS }]);
  await node.schedule(TEMPLATE, '0 0 1 1 *', NOWHERE, json, bodyOf(0));
  await node.schedule(`${TEMPLATE}-ran`, '* * * * * *', harness.url, json, bodyOf(0));
  const ran = `select * from messages where schedule_id = '${TEMPLATE}-ran' and state = 'delivered' limit 1`;
  while ((await table.query(ran)).rowCount === 0) await sleep(POLL_MS);
  await table.query('create schema bench');
  await table.query(`create table ${TEMPLATES.ran} as ${ran}`);
  await table.query(`create table ${TEMPLATES.message} as select * from messages where schedule_id is null limit 1`);
  await table.query(`create table ${TEMPLATES.schedule} as select * from schedules where id = '${TEMPLATE}'`);
  await table.query(
    `create table ${TEMPLATES.change} as select * from schedule_changes where schedule_id = '${TEMPLATE}' limit 1`,
  );
  for (const id of [TEMPLATE, `${TEMPLATE}-ran`]) await node.deleteSchedule(id);
  await table.query('truncate messages, attempts, schedule_changes, schedule_marks');
}

/** Does the rows in chunks, some at once, each on its connection. */
async function inChunks(stores: BenchStores, rows: number, work: (chunk: Chunk) => Promise<void>): Promise<void> {
  const { rows: cluster } = await stores.table.query<{ shards: number }>('select shards from cluster');
  const shards = cluster[0]?.shards ?? 0;
  let next = 0;
  const loader = async (): Promise<void> => {
    const table = new pg.Client({ connectionString: stores.postgres.url });
    await table.connect();
    try {
      // Lost with the server it would be loaded again.
      await table.query('set synchronous_commit = off');
      while (next < rows) {
        const first = next;
        next = Math.min(rows, first + CHUNK_ROWS);
        await work({ table, first, end: next, rows, shards });
      }
    } finally {
      await table.end();
    }
  };
  await Promise.all(Array.from({ length: LOADERS }, loader));
}

/** Indexes and everything included. */
async function sizesOf(table: pg.Client): Promise<{ messages: number; schedules: number }> {
  const { rows } = await table.query<{ messages: number; schedules: number }>(
    `select
       (select sum(pg_total_relation_size(relid)) from pg_partition_tree('messages') where isleaf)::float8 as messages,
       (pg_total_relation_size('schedules') + pg_total_relation_size('schedule_marks')
         + pg_total_relation_size('schedule_changes'))::float8 as schedules`,
  );
  return rows[0] ?? { messages: 0, schedules: 0 };
}

async function tidy({ table, queue }: BenchStores): Promise<void> {
  await queue.flushall('SYNC');
  const [from, until] = [messageIdFloor(Date.now() - DAY_MS), messageIdFloor(Date.now() + 1.5 * DAY_MS)];
  await table.query(`delete from messages where id >= $1 and id < $2 and coalesce(schedule_id, '') not like 'job-%'`, [
    from,
    until,
  ]);
  await table.query(`delete from schedules where id not like 'job-%'`);
  await table.query('truncate attempts');
  await table.query('vacuum (analyze) messages, schedules');
}
