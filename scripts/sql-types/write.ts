/**
 * Writes src/postgres/statements.ts and src/postgres/schema.sql out of a database that is migrated for it: `npm run sql-types`, after a
 * statement or a migration was changed. A test compares both with what is committed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../cluster/stores/local-stores.js';
import { Database } from '../../src/postgres/database.js';
import { processTime } from '../../src/time/process-time.js';
import { migrate } from '../../src/postgres/migrate.js';
import { generatedFiles } from './generated-files.js';

const TIMEOUT_MS = 30_000;

const FOLDER = path.join(process.cwd(), 'src', 'postgres');
const dataDir = mkdtempSync(path.join(tmpdir(), 'carillon-sql-types-'));
const store = await startPostgres({ dataDir });
const database = new Database({
  time: processTime,
  url: store.url,
  poolSize: 2,
  timeoutMs: TIMEOUT_MS,
  onError: () => undefined,
});
const client = new pg.Client({ connectionString: store.url });
try {
  const nowMs = Date.now();
  await migrate(database, { shards: 1, fromMs: nowMs, untilMs: nowMs });
  await client.connect();
  for (const [file, text] of Object.entries(await generatedFiles(client))) writeFileSync(path.join(FOLDER, file), text);
} finally {
  await Promise.allSettled([database.close(), client.end()]);
  await store.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
