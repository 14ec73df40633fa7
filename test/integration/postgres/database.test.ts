// The way to PostgreSQL when a connection breaks at a bad moment.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../../src/postgres/database.js';
import { freshDatabase, type FreshDatabase } from '../../kit/stores.js';
import { processTime } from '../../../src/time/process-time.js';

let fresh: FreshDatabase;
let database: Database;
const broken: Error[] = [];
beforeAll(async () => {
  fresh = await freshDatabase();
  database = new Database({
    time: processTime,
    url: fresh.url,
    poolSize: 2,
    timeoutMs: 5_000,
    onError: (error) => broken.push(error),
  });
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});

describe('a connection that is lost', () => {
  it('between two statements of a transaction fails the transaction, not the process', async () => {
    const transaction = database.transaction(async (connection) => {
      const [row] = await connection.text<{ pid: number }>('select pg_backend_pid() as pid');
      await database.text('select pg_terminate_backend($1)', [row?.pid]);
      // The news of the end comes while no statement is under way.
      await expect.poll(() => broken.length).toBeGreaterThan(0);
      await connection.text('select 1');
    });
    await expect(transaction).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' });
  });

  it('is replaced', async () => {
    const pids = await database.transaction((connection) => connection.text('select pg_backend_pid() as pid'));
    expect(pids).toHaveLength(1);
  });
});
