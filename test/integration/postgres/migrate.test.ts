// Bringing the schema up to date: raced by many nodes, refused when it is newer or was made for another number of shards.

import { afterEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/postgres/database.js';
import { migrate } from '../../../src/postgres/migrate.js';
import { openDatabase } from '../../kit/node.js';
import { freshDatabase, type FreshDatabase } from '../../kit/stores.js';

const DAY = 86_400_000;
const nowMs = Date.now();
const settings = { shards: 8, fromMs: nowMs - 7 * DAY, untilMs: nowMs + 14 * DAY };

const opened: Database[] = [];
const made: FreshDatabase[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
  await Promise.all(made.splice(0).map((fresh) => fresh.drop()));
});

async function fresh(): Promise<() => Database> {
  const database = await freshDatabase();
  made.push(database);
  return () => {
    const one = openDatabase(database.url);
    opened.push(one);
    return one;
  };
}

async function catalogue(database: Database): Promise<unknown> {
  return database.text(
    `select table_name, column_name, data_type, is_nullable from information_schema.columns
      where table_schema = 'public' order by 1, ordinal_position`,
  );
}

describe('a migration', () => {
  it('raced by five nodes happens once and leaves each of them with the schema', async () => {
    const open = await fresh();
    const nodes = Array.from({ length: 5 }, open);
    await Promise.all(nodes.map((node) => migrate(node, settings)));
    const rows = await nodes[0]!.text<{ version: number }>('select version from carillon_migrations order by 1');
    expect(rows.map(({ version }) => version)).toEqual(rows.map((_, index) => index + 1));
    expect(await nodes[1]!.text('select count(*)::integer as count from shards')).toEqual([{ count: 8 }]);
    expect(await nodes[2]!.text('select shards from cluster')).toEqual([{ shards: 8 }]);
  });

  it('that was done changes nothing when it is done again', async () => {
    const open = await fresh();
    const database = open();
    await migrate(database, settings);
    const before = await catalogue(database);
    await database.text('update shards set epoch = 41');
    await migrate(database, settings);
    expect(await catalogue(database)).toEqual(before);
    expect(await database.text('select distinct epoch from shards')).toEqual([{ epoch: 41 }]);
  });

  it('refuses a schema that is newer than the code, and leaves it as it is', async () => {
    const open = await fresh();
    const database = open();
    await migrate(database, settings);
    await database.text(`insert into carillon_migrations (version, name) values (9999, '9999_from_the_future.sql')`);
    await expect(migrate(database, settings)).rejects.toThrow(/version 9999.*newer Carillon/);
  });

  it('refuses another number of shards than the cluster was created with', async () => {
    const open = await fresh();
    const database = open();
    await migrate(database, settings);
    await expect(migrate(database, { ...settings, shards: 16 })).rejects.toThrow(
      /CARILLON_SHARDS is 16.*created with 8/,
    );
    expect(await database.text('select count(*)::integer as count from shards')).toEqual([{ count: 8 }]);
  });

  it('makes the partitions of the weeks that it was asked for', async () => {
    const open = await fresh();
    const database = open();
    await migrate(database, settings);
    const names = await database.text<{ name: string }>(
      `select relname as name from pg_class where relispartition and relkind = 'r' and relname like 'messages_%'`,
    );
    expect(names.length).toBeGreaterThanOrEqual(4);
    expect(names.length).toBeLessThanOrEqual(5);
  });
});
