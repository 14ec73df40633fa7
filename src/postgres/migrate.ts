// Brings the schema up to date. Any number of nodes may do it at once; a schema newer than this code is refused.

import { readdirSync, readFileSync } from 'node:fs';
import { CarillonError, invariant } from '../domain/errors.js';
import type { Database, Queryable } from './database.js';
import { ensurePartitions, type PartitionBounds } from './partitions.js';
import type { ProcessTime } from '../domain/clock.js';
import { pause } from '../time/waiting.js';

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly text: string;
}

const FOLDER = new URL('./migrations/', import.meta.url);
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;

/** A number of our own, so that nobody else's advisory lock is in the way. It is held for one transaction only. */
const MIGRATION_LOCK = 7_117_001;
const LOCK_PAUSE_MS = 50;
const MAX_LOCK_TRIES = 2_400;
/** A migration may go through millions of rows. */
const MIGRATION_MS = 60 * 60_000;

export interface MigrateSettings extends PartitionBounds {
  readonly shards: number;
}

/**
 * Applies the missing migrations, each in its own transaction, makes the partitions for the given time, and fixes the number of
 * shards. Throws when the schema is newer than this code, or when the cluster was created with another number of shards.
 */
export async function migrate(database: Database, settings: MigrateSettings): Promise<void> {
  const migrations = readMigrations();
  await database.longTransaction(async (connection) => {
    await lockMigrations(connection, database.time);
    await connection.text(
      `create table if not exists carillon_migrations (
         version integer primary key, name text not null, applied_at timestamptz(3) not null default now())`,
    );
  });
  for (const migration of migrations) {
    await database.longTransaction(async (connection) => {
      await lockMigrations(connection, database.time);
      const applied = await appliedVersion(connection);
      refuseNewerSchema(applied, migrations.length);
      if (applied >= migration.version) return;
      await connection.text(migration.text, [], MIGRATION_MS);
      await connection.run('insert-migration', { version: migration.version, name: migration.name });
    });
  }
  refuseNewerSchema(await appliedVersion(database), migrations.length);
  await fixShards(database, settings.shards);
  await ensurePartitions(database, settings);
}

function readMigrations(): Migration[] {
  const migrations = readdirSync(FOLDER)
    .filter((name) => FILE_NAME.test(name))
    .sort()
    .map((name) => ({
      version: Number(name.slice(0, 4)),
      name,
      text: readFileSync(new URL(name, FOLDER), 'utf8'),
    }));
  migrations.forEach((migration, index) => {
    invariant(migration.version === index + 1, `migration ${migration.name} should have number ${index + 1}`);
  });
  return migrations;
}

/** Waits in short statements: a node that migrates for longer than one statement may take must not keep the others from starting. */
async function lockMigrations(connection: Queryable, time: ProcessTime): Promise<void> {
  for (let tries = 0; tries < MAX_LOCK_TRIES; tries++) {
    const [row] = await connection.run('lock-migrations', { lock: MIGRATION_LOCK });
    if (row?.locked === true) return;
    await pause(time, LOCK_PAUSE_MS);
  }
  throw new CarillonError('POSTGRES_UNAVAILABLE', 'another node has been migrating for minutes');
}

async function appliedVersion(connection: Queryable): Promise<number> {
  const [row] = await connection.run('select-schema-version');
  return row?.version ?? 0;
}

function refuseNewerSchema(applied: number, known: number): void {
  if (applied <= known) return;
  throw new CarillonError(
    'CONFLICT',
    `CARILLON_DATABASE_URL: the schema is at version ${applied}, this Carillon knows up to ${known}: run a newer Carillon, or use another database`,
  );
}

async function fixShards(database: Database, shards: number): Promise<void> {
  await database.longTransaction(async (connection) => {
    await connection.run('insert-cluster', { shards });
    await connection.run('insert-shards');
  });
  const [cluster] = await database.run('select-cluster');
  const fixed = cluster?.shards;
  if (fixed !== shards) {
    throw new CarillonError(
      'CONFLICT',
      `CARILLON_SHARDS is ${shards}, but this cluster was created with ${fixed ?? 'no'} shards and their number cannot change`,
    );
  }
}
