/** Starts nodes for tests: in this process, on a database and a Redis prefix of their own, with a receiver beside them. */
import pg from 'pg';
import { pino } from 'pino';
import { inject } from 'vitest';
import { startNode, type Node } from '../../src/compose.js';
import { type Config, configWith } from '../../src/config.js';
import { Database } from '../../src/postgres/database.js';
import { migrate } from '../../src/postgres/migrate.js';
import { partitionBounds } from '../../src/postgres/maintenance.js';
import { type Sink, startSink } from './sink.js';
import { type FreshDatabase, freshDatabase, freshRedis } from './stores.js';
import { processTime } from '../../src/time/process-time.js';

/** Few, so that tests start fast; what holds for sixteen shards holds for more. */
export const TEST_SHARDS = 16;
export const TEST_TOKEN = 'test-token-0123456789';
export const TEST_ADMIN_TOKEN = 'test-admin-0123456789';
export const TEST_SIGNING_KEYS = { current: 'sig_test_current_key', next: 'sig_test_next_key' };

const TEMPLATE = 'carillon_template';
const TEMPLATE_LOCK = 711_799;

/** A database with the schema in it, copied from one that was migrated once in this run. */
export async function migratedDatabase(): Promise<FreshDatabase> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [TEMPLATE]);
    if (rowCount === 0) await makeTemplate(client);
  } finally {
    await client.end();
  }
  return freshDatabase(TEMPLATE);
}

async function makeTemplate(client: pg.Client): Promise<void> {
  const draft = await freshDatabase();
  const database = openDatabase(draft.serverUrl);
  try {
    await migrate(database, { shards: TEST_SHARDS, ...partitionBounds(Date.now(), { delayMaxMs: 400 * 86_400_000 }) });
  } finally {
    await database.close();
  }
  const name = new URL(draft.url).pathname.slice(1);
  await client.query(`alter database ${name} rename to ${TEMPLATE}`);
}

/** A pool for looking into PostgreSQL. Close it. */
export function openDatabase(url: string): Database {
  return new Database({ time: processTime, url, poolSize: 4, timeoutMs: 20_000, onError: () => undefined });
}

export interface TestNode {
  readonly url: string;
  readonly token: string;
  readonly adminToken: string;
  readonly config: Config;
  readonly sink: Sink;
  /** For looking into PostgreSQL. */
  readonly database: Database;
  /** Calls the API as the tenant "default". */
  call(
    method: string,
    path: string,
    options?: { headers?: Record<string, string>; body?: string | Buffer },
  ): Promise<Response>;
  /** Stops the node alone, in order. */
  stopNode(): Promise<void>;
  /** Starts it again on the same stores, with other settings where given. */
  restartNode(changes?: Partial<Config>): Promise<void>;
  /** Stops everything and drops the database. */
  stop(): Promise<void>;
}

/** `changes` are settings that differ from a test's usual ones; store URLs among them when the test has its own. */
export async function startTestNode(changes: Partial<Config> = {}): Promise<TestNode> {
  const fresh = changes.CARILLON_DATABASE_URL === undefined ? await migratedDatabase() : null;
  const redis = freshRedis();
  const sink = await startSink();
  const settings: Partial<Config> = {
    CARILLON_DATABASE_URL: fresh?.url ?? '',
    CARILLON_REDIS_URL: redis.url,
    CARILLON_REDIS_PREFIX: redis.prefix.replace(/:$/, ''),
    CARILLON_SHARDS: TEST_SHARDS,
    CARILLON_PORT: 0,
    CARILLON_TOKEN: TEST_TOKEN,
    CARILLON_ADMIN_TOKEN: TEST_ADMIN_TOKEN,
    CARILLON_CURRENT_SIGNING_KEY: TEST_SIGNING_KEYS.current,
    CARILLON_NEXT_SIGNING_KEY: TEST_SIGNING_KEYS.next,
    CARILLON_TOKEN_CACHE_MS: 100,
    CARILLON_LEASE_MS: 1_500,
    CARILLON_HEARTBEAT_MS: 50,
    CARILLON_LEAVE_MS: 0,
    CARILLON_ALLOW_PRIVATE_DESTINATIONS: true,
    CARILLON_RETRY_DELAY_MIN_MS: 0,
    // Tests ask for many lists at once, also on a busy machine.
    CARILLON_READ_WAIT_MS: 10_000,
    CARILLON_LOG_LEVEL: 'silent',
    ...changes,
  };
  let config = configWith(settings);
  const start = (): Promise<Node> => startNode(config, pino({ level: process.env.CARILLON_TEST_LOG ?? 'silent' }));
  let node = await start();
  const database = openDatabase(config.CARILLON_DATABASE_URL);
  return {
    get url() {
      return node.url;
    },
    token: TEST_TOKEN,
    adminToken: TEST_ADMIN_TOKEN,
    config,
    sink,
    database,
    call: (method, path, options = {}) =>
      fetch(`${node.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${TEST_TOKEN}`, ...options.headers },
        ...(options.body === undefined ? {} : { body: options.body }),
      }),
    stopNode: () => node.stop(),
    restartNode: async (more = {}) => {
      await node.stop();
      config = configWith({ ...config, ...more });
      node = await start();
    },
    stop: async () => {
      await node.stop();
      await sink.close();
      await database.close();
      await fresh?.drop();
    },
  };
}
