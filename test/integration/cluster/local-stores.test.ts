/** The servers that `npm start` and the tests run: their data survives, and there is never a second one on the same data. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { startPostgres, startRedis } from '../../../cluster/stores/local-stores.js';
import { freshDatabase, freshRedis, ownPostgres, ownRedis } from '../../kit/stores.js';

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Rows as arrays. Fails after 1.5 seconds without an answer. */
async function sql(url: string, ...statements: string[]): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_500, query_timeout: 1_500 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    let rows: unknown[][] = [];
    for (const text of statements) rows = (await client.query<unknown[]>({ text, rowMode: 'array' })).rows;
    return rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Fails after 3 seconds without an answer. */
async function redis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { retryStrategy: () => null, commandTimeout: 3_000 });
  client.on('error', () => undefined);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

describe('PostgreSQL', () => {
  test('an orderly restart and a kill -9 keep the data, the port and the password', async () => {
    const store = await ownPostgres();
    cleanups.push(() => store.stop());
    const { url, pid } = store;
    await sql(url, 'create table kept (n int)', 'insert into kept values (1)');
    await store.restart();
    expect(store.url).toBe(url);
    expect(store.pid).not.toBe(pid);
    await sql(url, 'insert into kept values (2)');
    await store.kill9();
    await expect(sql(url, 'select 1')).rejects.toThrow();
    await store.restart();
    expect(store.url).toBe(url);
    expect(await sql(url, 'select n from kept order by n')).toEqual([[1], [2]]);
  });

  test('runs as customers would: durable, UTF-8, in UTC, on 127.0.0.1 alone, never without the password', async () => {
    const { url, drop } = await freshDatabase();
    cleanups.push(drop);
    const names = [
      'fsync',
      'synchronous_commit',
      'full_page_writes',
      'listen_addresses',
      'timezone',
      'server_encoding',
    ];
    const shown = await Promise.all(names.map(async (name) => (await sql(url, `show ${name}`))[0]?.[0]));
    expect(shown).toEqual(['on', 'on', 'on', '127.0.0.1', 'UTC', 'UTF8']);
    const guessed = new URL(url);
    guessed.password = 'guess';
    await expect(sql(guessed.href, 'select 1')).rejects.toThrow(/password authentication failed/);
  });

  test('a second start on the same folder takes the running server over', async () => {
    const dataDir = path.join(inject('runDir'), 'postgres-twice');
    const first = await startPostgres({ dataDir });
    cleanups.push(() => first.stop());
    const second = await startPostgres({ dataDir });
    expect(second).toMatchObject({ pid: first.pid, url: first.url, adopted: true });
    await second.stop();
    await first.gone;
    await second.gone;
  });

  test('a left over process number that belongs to somebody else is neither obeyed nor harmed', async () => {
    const dataDir = path.join(inject('runDir'), 'postgres-stale');
    const store = await startPostgres({ dataDir });
    const file = path.join(dataDir, 'cluster', 'postmaster.pid');
    const lines = readFileSync(file, 'utf8').split('\n');
    await store.stop();
    writeFileSync(file, [String(process.ppid), ...lines.slice(1)].join('\n'));
    const again = await startPostgres({ dataDir });
    cleanups.push(() => again.stop());
    expect(again.adopted).toBe(false);
    expect(process.kill(process.ppid, 0)).toBe(true);
    expect(await sql(again.url, 'select 1')).toEqual([[1]]);
  });

  test('a frozen server answers nothing and goes on when it thaws', async () => {
    const store = await ownPostgres();
    cleanups.push(() => store.stop());
    store.pause();
    const answer = sql(store.url, 'select 1');
    await expect(answer).rejects.toThrow(/timeout/i);
    store.resume();
    expect(await sql(store.url, 'select 1')).toEqual([[1]]);
  });

  test('works in a folder below one that only its owner may enter', async () => {
    const closed = path.join(inject('runDir'), 'closed');
    mkdirSync(closed);
    chmodSync(closed, 0o700);
    const dataDir = path.join(closed, 'home', 'postgres');
    const store = await startPostgres({ dataDir });
    cleanups.push(() => store.stop());
    expect(await sql(store.url, 'select current_user')).toEqual([['carillon']]);
    expect(statSync(path.join(dataDir, 'access.json')).mode & 0o777).toBe(0o600);
  });
});

describe('Redis', () => {
  test('an orderly restart keeps everything, the port and the password', async () => {
    const store = await ownRedis();
    cleanups.push(() => store.stop());
    const { url } = store;
    await redis(url, (client) => client.set('kept', '1'));
    await store.restart();
    expect(store.url).toBe(url);
    expect(await redis(url, (client) => client.get('kept'))).toBe('1');
  });

  test('a kill -9 keeps every write that was answered', async () => {
    const store = await ownRedis();
    cleanups.push(() => store.stop());
    await redis(store.url, (client) => client.set('kept', '1'));
    await store.kill9();
    await expect(redis(store.url, (client) => client.get('kept'))).rejects.toThrow();
    await store.restart();
    expect(await redis(store.url, (client) => client.get('kept'))).toBe('1');
  });

  test('runs as customers would: every write logged, nothing evicted, never without the password', async () => {
    const { url } = freshRedis();
    const settings = await redis(url, (client) =>
      client.config('GET', 'appendonly', 'appendfsync', 'maxmemory-policy', 'save', 'bind'),
    );
    const pairs = settings;
    const shown = Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1]]] : [])));
    expect(shown).toEqual({
      appendonly: 'yes',
      appendfsync: 'everysec',
      'maxmemory-policy': 'noeviction',
      save: '',
      bind: '127.0.0.1',
    });
    const open = new URL(url);
    open.password = '';
    await expect(redis(open.href, (client) => client.get('x'))).rejects.toThrow(/NOAUTH/);
  });

  // Issue 11, A9: an earlier version ran it as root, with the data beside the launcher's own files.
  test.runIf(process.getuid?.() === 0)('is no root, also on the folder of an earlier version', async () => {
    const dataDir = path.join(inject('runDir'), 'redis-of-root');
    const made = await startRedis({ dataDir });
    await redis(made.url, (client) => client.set('kept', '1'));
    await made.stop();
    renameSync(path.join(dataDir, 'data', 'appendonlydir'), path.join(dataDir, 'appendonlydir'));
    rmSync(path.join(dataDir, 'data'), { recursive: true });
    for (const file of readdirSync(dataDir, { recursive: true })) chownSync(path.join(dataDir, String(file)), 0, 0);
    chmodSync(dataDir, 0o700);
    const store = await startRedis({ dataDir });
    cleanups.push(() => store.stop());
    expect(await redis(store.url, (client) => client.get('kept'))).toBe('1');
    await redis(store.url, (client) => client.call('bgrewriteaof'));
    const [, ...users] =
      /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$/m.exec(readFileSync(`/proc/${store.pid}/status`, 'latin1')) ?? [];
    expect(users).toHaveLength(4);
    expect(users).not.toContain('0');
    // What the launcher writes lies where the server writes nothing.
    expect(statSync(dataDir).uid).toBe(0);
    expect(statSync(path.join(dataDir, 'access.json')).mode & 0o777).toBe(0o600);
    expect(statSync(path.join(dataDir, 'redis.conf')).mode & 0o007).toBe(0);
  });

  test('a second start on the same folder takes the running server over, also a frozen one', async () => {
    const dataDir = path.join(inject('runDir'), 'redis-twice');
    const first = await startRedis({ dataDir });
    cleanups.push(() => first.stop());
    process.kill(first.pid, 'SIGSTOP');
    const second = await startRedis({ dataDir });
    expect(second).toMatchObject({ pid: first.pid, url: first.url, adopted: true });
    await second.stop();
    await second.gone;
  });
});
