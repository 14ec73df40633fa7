/** Stores of the benchmark's own in a temporary folder, durable as customers run them, and how much CPU they use. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startPostgres, startRedis, type LocalStore } from '../cluster/stores/local-stores.js';

export interface BenchStores {
  /** Also for logs; deleted at the end. */
  readonly folder: string;
  readonly redis: LocalStore;
  readonly postgres: LocalStore;
  /** For looking into the table. */
  readonly table: pg.Client;
  /** Settings of every node that runs on these stores. */
  readonly nodeSettings: Readonly<Record<string, string>>;
  readonly versions: { readonly redis: string; readonly postgres: string };
  /** For looking into Redis. */
  readonly queue: Redis;
  /** Empties Redis. */
  flushRedis(): Promise<void>;
  stop(): Promise<void>;
}

export interface StoreOptions {
  /** Server settings by name, beside those of every local store. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** Is used again and not deleted. */
  readonly keptFolder?: string | undefined;
  readonly nodeSettings?: Readonly<Record<string, string>>;
}

export async function startStores(options: StoreOptions = {}): Promise<BenchStores> {
  const { postgresSettings = {}, keptFolder, nodeSettings = {} } = options;
  const folder =
    keptFolder === undefined ? mkdtempSync(path.join(tmpdir(), 'carillon-bench-')) : path.resolve(keptFolder);
  mkdirSync(folder, { recursive: true });
  // PostgreSQL's user must be able to pass when we are root.
  chmodSync(folder, 0o711);
  const [redis, postgres] = await Promise.all([
    startRedis({ dataDir: path.join(folder, 'redis'), say: (line) => console.error(line) }),
    startPostgres({ dataDir: path.join(folder, 'postgres'), settings: postgresSettings }),
  ]);
  const client = new Redis(redis.url);
  const table = new pg.Client({ connectionString: postgres.url });
  await table.connect();
  const info = await client.info('server');
  const { rows } = await table.query<{ server_version: string }>('show server_version');
  return {
    folder,
    redis,
    postgres,
    table,
    nodeSettings,
    versions: {
      redis: /^redis_version:(\S+)/m.exec(info)?.[1] ?? '?',
      postgres: rows[0]?.server_version ?? '?',
    },
    queue: client,
    flushRedis: async () => {
      await client.flushall('SYNC');
    },
    stop: async () => {
      client.disconnect();
      await table.end();
      await Promise.all([redis.stop(), postgres.stop()]);
      if (keptFolder === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}
