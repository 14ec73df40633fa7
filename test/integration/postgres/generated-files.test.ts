// Issue 13, entry 3: the types of statements, and the schema for people to read, are those of a database that is migrated now.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatedFiles } from '../../../scripts/sql-types/generated-files.js';
import { migrate } from '../../../src/postgres/migrate.js';
import { openDatabase } from '../../kit/node.js';
import { freshDatabase, type FreshDatabase } from '../../kit/stores.js';

const FOLDER = path.resolve(import.meta.dirname, '../../../src/postgres');

let fresh: FreshDatabase;
let written: Readonly<Record<string, string>>;

beforeAll(async () => {
  fresh = await freshDatabase();
  const database = openDatabase(fresh.url);
  const nowMs = Date.now();
  await migrate(database, { shards: 4, fromMs: nowMs, untilMs: nowMs });
  await database.close();
  const client = new pg.Client({ connectionString: fresh.serverUrl });
  await client.connect();
  try {
    written = await generatedFiles(client);
  } finally {
    await client.end();
  }
});
afterAll(() => fresh.drop());

describe('what npm run sql-types writes', () => {
  it.each(['statements.ts', 'schema.sql'])('is what src/postgres/%s has', (file) => {
    const committed = readFileSync(path.join(FOLDER, file), 'utf8');
    expect(committed, `src/postgres/${file} is stale: run npm run sql-types`).toBe(written[file]);
  });
});
