// The models of our SQL statements do what PostgreSQL does (issue 13, 5): the same random work goes to both, through
// the functions that our code calls, and each answer and all rows that both have afterwards must be the same.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageIdFloor } from '../../src/domain/ids.js';
import { codeOf, type Database } from '../../src/postgres/database.js';
import { CarillonError } from '../../src/domain/errors.js';
import { openDatabase, migratedDatabase } from '../kit/node.js';
import type { FreshDatabase } from '../kit/stores.js';
import { boundDatabase } from '../sim/clients.js';
import { type Given, performanceOf } from './postgres-performance.js';
import { anyStep, READY, type Step } from './postgres-steps.js';
import { PostgresServer } from '../sim/postgres-server.js';
import { World } from '../sim/world.js';

const STEPS = Number(process.env.CARILLON_DIFFERENTIAL_STEPS ?? 600);
const SEED = Number(process.env.CARILLON_DIFFERENTIAL_SEED ?? Math.floor(Math.random() * 1e9));
/** In the mean. */
const STEPS_OF_RUN = 25;
const DAY_MS = 86_400_000;
const START_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const LIMITS = { idleMs: 2_500, lockMs: 3_500, statementMs: 4_500 };

let fresh: FreshDatabase;
let real: Database;
let shards: number;
beforeAll(async () => {
  fresh = await migratedDatabase();
  real = openDatabase(fresh.url);
  await real.text(`insert into tenants (name) values ('one'), ('two')`);
  shards = (await real.text('select shard from shards')).length;
});
afterAll(async () => {
  await real.close();
  await fresh.drop();
});

/** Only the weeks that the steps are about are looked at. */
const RANGE = [messageIdFloor(START_MS - DAY_MS), messageIdFloor(START_MS + 2 * DAY_MS)];
const READS = {
  shards: 'select shard, epoch, node from shards',
  messages: 'select * from messages where id between $1::uuid and $2::uuid',
  attempts: 'select * from attempts where message_id between $1::uuid and $2::uuid',
  schedules: 'select * from schedules',
  idempotency_keys: 'select * from idempotency_keys',
  schedule_changes: 'select * from schedule_changes',
} as const;

async function empty(): Promise<void> {
  await real.text('delete from messages where id between $1::uuid and $2::uuid', RANGE);
  await real.text('delete from attempts where message_id between $1::uuid and $2::uuid', RANGE);
  await real.text('delete from schedules');
  await real.text('delete from idempotency_keys');
  await real.text('delete from schedule_changes');
  await real.text('update shards set epoch = 0, node = null');
}

async function rowsOfPostgres(): Promise<Record<string, unknown>> {
  const found = await Promise.all(
    Object.entries(READS).map(async ([table, text]) => [
      table,
      await real.text(text, text.includes('$1') ? RANGE : []),
    ]),
  );
  return sortedRows(Object.fromEntries(found) as Record<string, object[]>);
}

function rowsOfModel({ tables }: PostgresServer): Record<string, unknown> {
  const found = Object.keys(READS).map((table) => {
    const rows = [...tables[table as keyof typeof READS].values()] as unknown as Record<string, unknown>[];
    return [table, rows.map(({ finished: _finished, endedAtMs: _endedAtMs, ...row }) => row)];
  });
  return sortedRows(Object.fromEntries(found) as Record<string, object[]>);
}

function sortedRows(tables: Record<string, object[]>): Record<string, unknown> {
  const sorted = (rows: object[]): unknown[] =>
    rows.map(comparable).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, sorted(rows)]));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Values without what does not matter: how an id is written, the order of names, of what is found by name, and of what
 * has no order.
 */
function comparable(value: unknown): unknown {
  if (typeof value === 'string') return UUID.test(value) ? value.replaceAll('-', '') : value;
  if (Buffer.isBuffer(value)) return `bytes ${value.toString('hex')}`;
  if (value instanceof Set) return [...value].map(comparable).sort();
  if (value instanceof Map) return comparable(Object.fromEntries(value));
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, comparable((value as Record<string, unknown>)[name])]));
}

const WITHOUT_ORDER = new Set<Step['kind']>(['cancel', 'confirm', 'release']);

async function answer(step: Step, perform: Promise<unknown>): Promise<unknown> {
  try {
    const result = comparable(await perform);
    if (!WITHOUT_ORDER.has(step.kind)) return result;
    return (result as unknown[]).map((one) => JSON.stringify(one)).sort();
  } catch (error) {
    if (error instanceof CarillonError) return `error ${error.code} ${error.message}`;
    if (codeOf(error) === '') throw error;
    return `error ${codeOf(error)}`;
  }
}

const asked = new Set<string>();
/** Looks at connections, of which the model here has none; or reads what nothing here changes. */
const NOT_COMPARED = ['end-abandoned', 'select-shards', 'select-signing-keys', 'select-writability'];

async function runBoth(steps: readonly Step[]): Promise<void> {
  await empty();
  const server = new PostgresServer(new World(1), shards, LIMITS);
  const run = server.run.bind(server);
  server.run = (name, ...rest) => {
    asked.add(name);
    return run(name, ...rest);
  };
  const model = boundDatabase(server, 'test');
  const given: Given = { server, startMs: START_MS, nowMs: START_MS, read: new Map() };
  for (const step of [...READY, ...steps]) {
    const perform = performanceOf(step, given);
    if (perform === null) continue;
    const expected = await answer(step, perform(real));
    expect(await answer(step, perform(model)), `the answer to ${JSON.stringify(step)}`).toEqual(expected);
    expect(rowsOfModel(server), `what is there after ${JSON.stringify(step)}`).toEqual(await rowsOfPostgres());
  }
}

describe('the model of each statement (issue 13, 5)', { timeout: 600_000 }, () => {
  it('answers as PostgreSQL does and leaves the same rows behind, whatever is asked in whatever order', async () => {
    const steps = fc.array(anyStep, { maxLength: 2 * STEPS_OF_RUN, size: 'max' });
    await fc.assert(fc.asyncProperty(steps, runBoth), { seed: SEED, numRuns: Math.ceil(STEPS / STEPS_OF_RUN) });
    const { statements } = new PostgresServer(new World(1), 1, LIMITS);
    expect([...asked, ...NOT_COMPARED].sort()).toEqual(Object.keys(statements).sort());
  });
});
