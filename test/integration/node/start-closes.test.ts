// Issue 13, entry 4: whichever step of a start fails, what was opened before it is closed: no connection, port or timer is left.

import { createHook } from 'node:async_hooks';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNode } from '../../../src/compose.js';
import { type Config, configWith } from '../../../src/config.js';
import type { Database } from '../../../src/postgres/database.js';
import { migratedDatabase, openDatabase, TEST_SHARDS, TEST_TOKEN } from '../../kit/node.js';
import { stablePort } from '../../kit/stable-port.js';
import { type FreshDatabase, type OwnStore, ownRedis } from '../../kit/stores.js';
import { until } from '../../kit/work.js';

let store: OwnStore;
let fresh: FreshDatabase;
let database: Database;
let redis: Redis;
beforeAll(async () => {
  [store, fresh] = await Promise.all([ownRedis(), migratedDatabase()]);
  database = openDatabase(fresh.url);
  redis = new Redis(store.url);
});
afterAll(async () => {
  redis.disconnect();
  await database.close();
  await fresh.drop();
  await store.stop();
});

/** The Redis URL of a user who may subscribe to these channels only. */
async function hearingOnly(...channels: readonly string[]): Promise<string> {
  const rights = ['on', 'nopass', '~*', '+@all', 'resetchannels', ...channels.map((name) => `&${name}`)];
  await redis.call('ACL', 'SETUSER', 'hearer', 'reset', ...rights);
  const url = new URL(store.url);
  url.username = 'hearer';
  url.password = 'any';
  return url.href;
}

async function takenPort(): Promise<{ port: number; taker: Server }> {
  const taker = createServer();
  await new Promise<void>((resolve) => taker.listen(0, '127.0.0.1', resolve));
  return { port: (taker.address() as AddressInfo).port, taker };
}

async function openConnections(): Promise<string[]> {
  const clients = (await redis.client('LIST')) as string;
  const [here] = await database.text<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name like 'carillon %'`,
  );
  return [`${clients.trim().split('\n').length - 1} to Redis`, `${here?.count ?? 0} to PostgreSQL`];
}

/** Timers that were begun within `work`, and have neither rung nor been canceled. */
async function timersLeftBy(work: () => Promise<unknown>): Promise<() => number> {
  const left = new Set<number>();
  let isUnderWay = true;
  const hook = createHook({
    init: (id, type) => {
      if (isUnderWay && type === 'Timeout') left.add(id);
    },
    destroy: (id) => void left.delete(id),
  });
  hook.enable();
  try {
    await work();
  } finally {
    isUnderWay = false;
  }
  return () => {
    if (left.size === 0) hook.disable();
    return left.size;
  };
}

async function expectNothingOpenAfter(work: () => Promise<unknown>): Promise<void> {
  const timersLeft = await timersLeftBy(work);
  await until(async () => {
    expect(await openConnections()).toEqual(NO_CONNECTIONS);
    expect(timersLeft(), 'timers that go on').toBe(0);
  });
}

async function failing(changes: Partial<Config>): Promise<unknown> {
  const config = configWith({
    CARILLON_DATABASE_URL: fresh.url,
    CARILLON_REDIS_URL: store.url,
    CARILLON_SHARDS: TEST_SHARDS,
    CARILLON_PORT: 0,
    CARILLON_TOKEN: TEST_TOKEN,
    CARILLON_LEASE_MS: 1_500,
    CARILLON_HEARTBEAT_MS: 50,
    CARILLON_LOG_LEVEL: 'silent',
    ...changes,
  });
  return startNode(config, pino({ level: 'silent' })).then(
    async (node) => {
      await node.stop();
      return 'it started';
    },
    (error: unknown) => error,
  );
}

const NO_CONNECTIONS = ['0 to Redis', '0 to PostgreSQL'];
const STEPS: readonly (readonly [string, () => Promise<Partial<Config>>, RegExp])[] = [
  [
    'Redis is not there',
    async () => ({ CARILLON_REDIS_URL: `redis://127.0.0.1:${await stablePort()}` }),
    /Redis.* cannot be reached/,
  ],
  [
    'PostgreSQL is not there',
    async () => ({ CARILLON_DATABASE_URL: `postgres://u:p@127.0.0.1:${await stablePort()}/x` }),
    /PostgreSQL.*ECONNREFUSED/,
  ],
  ['the schema has other shards', () => Promise.resolve({ CARILLON_SHARDS: TEST_SHARDS * 2 }), /shards/],
  [
    'its first subscription is refused',
    async () => ({ CARILLON_REDIS_URL: await hearingOnly('of-nobody') }),
    /NOPERM|No permissions/,
  ],
  [
    'the last step, the console’s subscription, is refused',
    async () => ({ CARILLON_REDIS_URL: await hearingOnly('carillon:cluster', 'carillon:wake:*') }),
    /NOPERM|No permissions/,
  ],
];

it.each(STEPS)('nothing is left open by a start that fails because %s', async (_why, change, expected) => {
  const config = await change();
  await expectNothingOpenAfter(async () => expect(String(await failing(config))).toMatch(expected));
  // Neither a heartbeat nor a lease of it goes on.
  expect(await redis.zcard('carillon:{roster}:members')).toBe(0);
});

it('nothing is left open by a start that fails because its port is taken', async () => {
  const { port, taker } = await takenPort();
  try {
    await expectNothingOpenAfter(async () =>
      expect(String(await failing({ CARILLON_PORT: port }))).toContain('EADDRINUSE'),
    );
  } finally {
    taker.close();
  }
});

it('nothing is left open by a node that stops', async () => {
  await expectNothingOpenAfter(async () => expect(await failing({ CARILLON_LEAVE_MS: 0 })).toBe('it started'));
});
