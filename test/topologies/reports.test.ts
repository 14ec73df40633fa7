// Reports 25 and 26: that this run is what it says, a Redis Cluster of three masters and PgBouncer in transaction mode, and that a node works on it.
// The tests of Redis, of PostgreSQL and of the API run on the same servers beside this one.

import { Cluster, type Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createRedis, createSubscriber, openRedis } from '../../src/redis/connect.js';
import { Subscriptions } from '../../src/redis/subscriptions.js';
import { shardKeys } from '../../src/redis/keys.js';
import { RedisClock } from '../../src/redis/redis-clock.js';
import { redisError } from '../../src/redis/script.js';
import { startTestNode, type TestNode } from '../kit/node.js';
import { expectInvariants, publish, schedule, untilRows, untilState } from '../kit/work.js';
import { nodeClock, processTime } from '../../src/time/process-time.js';

const SHARDS = 64;
const timeoutMs = 5_000;

let node: TestNode;
let redis: Redis | Cluster;
beforeAll(async () => {
  node = await startTestNode({ CARILLON_DATABASE_POOL: 8 });
  redis = createRedis({ url: inject('redisUrl'), timeoutMs, onTrouble: () => undefined });
  await openRedis(redis, timeoutMs, processTime);
});
afterAll(async () => {
  await expectInvariants(node);
  redis.disconnect();
  await node.stop();
});

describe('on a Redis Cluster (report 25: CROSSSLOT)', () => {
  it('there are three masters, and shards lie on each of them', async () => {
    if (!(redis instanceof Cluster)) throw new Error('the data Redis is no cluster');
    const cluster = redis;
    expect(cluster.nodes('master')).toHaveLength(3);
    const slots = await Promise.all(
      Array.from({ length: SHARDS }, (_, shard) => cluster.cluster('KEYSLOT', shardKeys('c', shard).due)),
    );
    expect(new Set(slots.map((slot) => cluster.slots[slot]?.[0])).size).toBe(3);
  });

  it('all keys of a shard lie in one slot', async () => {
    const { due, inflight, task, state, tomb } = shardKeys('carillon', 7);
    const keys = [due, inflight, task, state, tomb];
    const slots = await Promise.all(keys.map((key) => redis.cluster('KEYSLOT', key)));
    expect(new Set(slots).size).toBe(1);
  });

  it('keys of two shards in one script are a fault of ours, not a queue that is unavailable', async () => {
    const twoShards = [shardKeys('c', 0).due, shardKeys('c', 1).due];
    const refused = await redis.eval('return 1', 2, ...twoShards).catch((error: unknown) => error);
    expect(String(refused)).toContain('CROSSSLOT');
    expect(redisError(refused)).toBe(refused);
  });

  it('messages and schedules of every shard are delivered', async () => {
    const ids = await Promise.all(Array.from({ length: SHARDS }, (_, n) => publish(node, `/cluster/${n}`)));
    await Promise.all(Array.from({ length: 5 }, (_, n) => schedule(node, `each-second-${n}`, '* * * * * *')));
    for (const id of ids) await untilState(node, id, 'delivered');
    for (let n = 0; n < 5; n++) await untilRows(node, `each-second-${n}`, 2, ({ state }) => state === 'delivered');
    const calls = node.sink.calls.filter(({ path }) => path.startsWith('/cluster/'));
    expect(calls).toHaveLength(SHARDS);
  });

  it('the clock is one that no master is behind', async () => {
    if (!(redis instanceof Cluster)) throw new Error('the data Redis is no cluster');
    const clock = new RedisClock(redis, { time: processTime, nodeClock });
    await clock.start();
    clock.stop();
    for (const master of redis.nodes('master')) {
      const [seconds, microseconds] = await master.time();
      expect(clock.nowMs() + timeoutMs).toBeGreaterThan(Number(seconds) * 1_000);
      expect(clock.nowMs()).toBeLessThan(Number(seconds) * 1_000 + Number(microseconds) / 1_000 + 200);
    }
  });

  it('a subscription hears what is published through any master, and is taken up again elsewhere when it breaks', async () => {
    const settings = { url: inject('redisUrl'), timeoutMs, onTrouble: () => undefined };
    const subscriber = createSubscriber(settings);
    await openRedis(subscriber, timeoutMs, processTime);
    const subscriptions = new Subscriptions(subscriber);
    let heard: (text: string) => void = () => undefined;
    subscriptions.onMessage((_channel, text) => heard(text));
    const next = (): Promise<string> => new Promise((resolve) => (heard = resolve));
    await subscriptions.add(['t:topologies']);
    const first = next();
    await redis.publish('t:topologies', 'one');
    expect(await first).toBe('one');

    const [port, renewed] = [
      subscriber.stream.remotePort,
      new Promise<void>((resolve) => subscriptions.onRenewed(resolve)),
    ];
    subscriber.disconnect(true);
    await renewed;
    expect(subscriber.stream.remotePort).not.toBe(port);
    const second = next();
    await redis.publish('t:topologies', 'two');
    expect(await second).toBe('two');
    subscriber.disconnect();
  });
});

describe('through PgBouncer in transaction mode (report 26)', () => {
  const isPooled = inject('databasesUrl') !== inject('postgresUrl');

  it.runIf(isPooled)('a client gets another connection of the server from one transaction to the next', async () => {
    const admin = new URL(inject('databasesUrl'));
    admin.pathname = '/pgbouncer';
    const database = new URL(node.config.CARILLON_DATABASE_URL);
    expect(database.port).toBe(admin.port);
    const clients = Array.from({ length: 4 }, () => new pg.Client({ connectionString: database.href }));
    await Promise.all(clients.map((client) => client.connect()));
    const backends = await Promise.all(
      clients.map(async (client) => {
        const seen = new Set<number>();
        for (let n = 0; n < 25; n++) {
          const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid, pg_sleep(0.002)');
          for (const { pid } of rows) seen.add(pid);
        }
        return seen.size;
      }),
    );
    await Promise.all(clients.map((client) => client.end()));
    expect(Math.max(...backends)).toBeGreaterThan(1);
  });

  it('a node leaves nothing behind in a connection: no lock of a session, no name of a statement, no listener', async () => {
    await publish(node, '/pooled');
    const server = new URL(inject('postgresUrl'));
    server.pathname = new URL(node.config.CARILLON_DATABASE_URL).pathname;
    const client = new pg.Client({ connectionString: server.href });
    await client.connect();
    const locks = await client.query(`select 1 from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`);
    await client.end();
    expect(locks.rows).toEqual([]);
    const [prepared] = await node.database.text<{ count: number }>(
      `select (select count(*)::integer from pg_prepared_statements)
         + (select count(*)::integer from pg_listening_channels()) as count`,
    );
    expect(prepared?.count).toBe(0);
  });
});
