/** Runs a Redis primary, its replica and a Sentinel that makes the replica the primary when the primary is silent. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { writeAccess } from '../../cluster/launcher/access-file.js';
import { startRedis, type LocalStore } from '../../cluster/stores/local-stores.js';
import { writePrivate } from '../../cluster/system/private-file.js';
import { ensureRedisBinary } from '../../cluster/stores/redis-binary.js';
import { endProcess, recordProcess, spawnServer } from '../../cluster/system/server-process.js';
import { stablePort } from './stable-port.js';

export interface SentinelTrio {
  /** Names the Sentinel and the primary. */
  readonly url: string;
  readonly primary: { readonly pid: number; start(): Promise<void> };
  /** The port of whom the Sentinel calls the primary. */
  primaryPort(): Promise<number>;
  /** Resolves when the replica has all, or another one has become the primary and has a replica that has all. */
  untilReplicated(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = 'main';
const DOWN_AFTER_MS = 1_000;
const READY_TIMEOUT_MS = 30_000;
const POLL_MS = 25;

export async function startSentinelTrio(dir: string): Promise<SentinelTrio> {
  const password = randomBytes(24).toString('base64url');
  const ports = [await stablePort(), await stablePort()] as const;
  const start = (index: 0 | 1): Promise<LocalStore> => {
    const dataDir = path.join(dir, `redis-${index}`);
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeAccess(dataDir, { port: ports[index], password });
    const settings = {
      masterauth: password,
      'repl-diskless-sync-delay': '0',
      ...(index === 0 ? {} : { replicaof: `127.0.0.1 ${ports[0]}` }),
    };
    return startRedis({ dataDir, port: ports[index], settings });
  };
  let primary = await start(0);
  const replica = await start(1);
  const sentinel = await startSentinel(path.join(dir, 'sentinel'), ports[0], password);

  const untilReplicated = async (): Promise<void> => {
    await untilTrue('the replica to have all', async () => {
      const client = new Redis({ host: '127.0.0.1', port: await sentinel.primaryPort(), password, lazyConnect: true });
      client.on('error', () => undefined);
      try {
        await client.connect();
        return /^slave0:.*state=online/m.test(await client.info('replication'));
      } catch {
        return false;
      } finally {
        client.disconnect();
      }
    });
  };
  await untilReplicated();
  // Only a Sentinel that knows the replica can promote it.
  await untilTrue('the Sentinel to know the replica', async () => (await sentinel.replicas()) === 1);
  return {
    url: `redis+sentinel://:${password}@127.0.0.1:${sentinel.port}/${NAME}?db=0`,
    primary: {
      get pid() {
        return primary.pid;
      },
      // Once it is back the Sentinel tells it whose replica it is.
      start: async () => {
        primary = await start(0);
      },
    },
    primaryPort: sentinel.primaryPort,
    untilReplicated,
    stop: async () => {
      await sentinel.stop();
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

interface Sentinel {
  readonly port: number;
  primaryPort(): Promise<number>;
  replicas(): Promise<number>;
  stop(): Promise<void>;
}

async function startSentinel(dir: string, primaryPort: number, password: string): Promise<Sentinel> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const binary = await ensureRedisBinary(path.join(dir, 'install.log'), () => undefined);
  const port = await stablePort();
  const file = path.join(dir, 'sentinel.conf');
  writePrivate(
    file,
    `port ${port}
bind 127.0.0.1
dir ${JSON.stringify(dir)}
sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 1
sentinel auth-pass ${NAME} ${password}
sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}
sentinel failover-timeout ${NAME} 10000
`,
  );
  const command = { file: binary.file, argv0: binary.argv0, args: [file, '--sentinel'], cwd: dir };
  const server = await spawnServer(command, path.join(dir, 'sentinel.log'));
  recordProcess(dir, server.identity);
  const client = new Redis({ host: '127.0.0.1', port });
  client.on('error', () => undefined);
  await untilTrue('the Sentinel to answer', async () => (await client.ping()).length > 0);
  return {
    port,
    primaryPort: async () => Number((await masterOf(client)).port),
    replicas: async () => Number((await masterOf(client))['num-slaves']),
    stop: async () => {
      client.disconnect();
      await endProcess('Sentinel', server.identity, [
        { signal: 'SIGTERM', waitMs: 5_000 },
        { signal: 'SIGKILL', waitMs: 5_000 },
      ]);
    },
  };
}

async function masterOf(client: Redis): Promise<Record<string, string>> {
  const flat = (await client.call('sentinel', 'master', NAME)) as string[];
  return Object.fromEntries(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])));
}

async function untilTrue(what: string, look: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  while (!(await look())) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${READY_TIMEOUT_MS} ms for ${what}`);
    await delay(POLL_MS);
  }
}
