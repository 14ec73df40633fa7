/** Runs a private Redis (or Valkey) server whose data lies in one folder and survives restarts. */
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { readAccess, writeAccess, type StoreAccess } from '../launcher/access-file.js';
import { freePort, isFree } from '../system/ports.js';
import type { Account } from './postgres-account.js';
import { writePrivate } from '../system/private-file.js';
import { identify, isRunning, signal, type ProcessIdentity } from '../system/processes.js';
import { ensureRedisBinary, type RedisBinary } from './redis-binary.js';
import {
  endProcess,
  recordedProcess,
  recordProcess,
  spawnServer,
  untilAdoptedGone,
  type LocalStore,
  type ServerProcess,
} from '../system/server-process.js';
import { giveFolder, hasOtherUser, letPass, unprivileged, unprivilegedAccount } from '../system/unprivileged.js';

export interface RedisOptions {
  /** Folder for data, configuration, log and access; made if missing. */
  readonly dataDir: string;
  /** Listen here instead of on the port kept from last time, or a free one. */
  readonly port?: number | undefined;
  /** Keep every write in the append-only file; default true. */
  readonly appendonly?: boolean;
  /** Further lines of redis.conf, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** File for the server's output; default `redis.log` in the folder. */
  readonly log?: string;
  /** Gets a line when something must be installed, or keeps root. */
  readonly say?: (line: string) => void;
}

/** Folder of what the server writes, within the one of what we write. */
const DATA = 'data';
const EARLIER_DATA = ['appendonlydir', 'dump.rdb', 'nodes.conf'];
const READY_TIMEOUT_MS = 120_000;
const ADOPT_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 20;
const PORT_ATTEMPTS = 5;
const STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 30_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/**
 * Starts the server and waits until it answers. If the one of an earlier run still runs on this folder it is taken over,
 * or ended when it no longer answers: there is never a second server on the same data.
 */
export async function startRedis(options: RedisOptions): Promise<LocalStore> {
  const dataDir = path.resolve(options.dataDir);
  const log = options.log ?? path.join(dataDir, 'redis.log');
  const say = options.say ?? ((line: string) => console.warn(line));
  const access = readAccess(dataDir, 0o700);
  const account = unprivilegedAccount('Redis', path.join(dataDir, DATA), say);
  const left = await leftRunning(dataDir, access);
  if (left !== undefined && hasOtherUser(left.pid, account)) {
    await endProcess('Redis of an earlier run', left, STOP_STEPS);
  } else if (left !== undefined) {
    const gone = untilAdoptedGone(left);
    return describe(access, left, gone, true);
  }
  const binary = await ensureRedisBinary(path.join(dataDir, 'install.log'), say);
  takeOverData(dataDir);
  giveFolder(path.join(dataDir, DATA), account);
  letPass(dataDir, account);
  for (let attempt = 1; ; attempt += 1) {
    const kept = options.port ?? access.port;
    const port = kept !== 0 && (options.port !== undefined || (await isFree(kept))) ? kept : await freePort();
    const current = { ...access, port };
    writeAccess(dataDir, current);
    const server = await launch(binary, dataDir, current, { options, account, say, log });
    const failure = await untilReady(server, current);
    if (failure === undefined) return describe(current, server.identity, server.gone, false);
    const taken = /address already in use/i.test(failure);
    if (!taken || options.port !== undefined || attempt === PORT_ATTEMPTS) {
      throw new Error(`Redis did not start on port ${port}; its log ${log} ends with:\n${failure}`);
    }
  }
}

interface Launch {
  readonly options: RedisOptions;
  readonly account: Account | undefined;
  readonly say: (line: string) => void;
  readonly log: string;
}

async function launch(
  binary: RedisBinary,
  dataDir: string,
  access: StoreAccess,
  { options, account, say, log }: Launch,
): Promise<ServerProcess> {
  const file = path.join(dataDir, 'redis.conf');
  const data = path.join(dataDir, DATA);
  writePrivate(file, configuration(data, access, options));
  if (account !== undefined) {
    chownSync(file, 0, account.gid);
    chmodSync(file, 0o640);
  }
  const own = { file: binary.file, argv0: binary.argv0, args: [file], cwd: data };
  const server = await spawnServer(unprivileged('Redis', account, own, [binary.file, data], say), log);
  recordProcess(dataDir, server.identity);
  return server;
}

/** An earlier version kept the data beside our own files, in the folder that is ours. */
function takeOverData(dataDir: string): void {
  const data = path.join(dataDir, DATA);
  if (existsSync(data)) return;
  mkdirSync(data, { mode: 0o700 });
  for (const name of EARLIER_DATA) {
    if (existsSync(path.join(dataDir, name))) renameSync(path.join(dataDir, name), path.join(data, name));
  }
}

function configuration(data: string, access: StoreAccess, options: RedisOptions): string {
  const settings: Record<string, string> = {
    bind: '127.0.0.1',
    port: String(access.port),
    'protected-mode': 'yes',
    requirepass: access.password,
    dir: JSON.stringify(data),
    daemonize: 'no',
    appendonly: (options.appendonly ?? true) ? 'yes' : 'no',
    appendfsync: 'everysec',
    save: '""',
    'maxmemory-policy': 'noeviction',
    'tcp-backlog': '511',
    ...options.settings,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}\n`)
    .join('');
}

/** The server of an earlier run that answers on this folder's port with this folder's password, if there is one. */
async function leftRunning(dataDir: string, access: StoreAccess): Promise<ProcessIdentity | undefined> {
  const recorded = recordedProcess(dataDir);
  const alive = recorded !== undefined && isRunning(recorded);
  // It may have been frozen; a running server does not mind.
  if (alive) signal(recorded, 'SIGCONT');
  const deadline = performance.now() + (alive ? ADOPT_TIMEOUT_MS : 0);
  do {
    const answer = access.port === 0 ? undefined : await ask(access);
    if (answer !== undefined && !answer.loading) {
      const identity = identify(answer.pid);
      if (identity !== undefined) return identity;
    }
    if (alive && isRunning(recorded)) await delay(READY_POLL_MS);
  } while (performance.now() < deadline && recorded !== undefined && isRunning(recorded));
  if (recorded !== undefined && isRunning(recorded)) await endProcess('Redis of an earlier run', recorded, STOP_STEPS);
  return undefined;
}

/** Waits for the server to answer; returns the end of its log if it ended or took too long. */
async function untilReady(server: ServerProcess, access: StoreAccess): Promise<string | undefined> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (isRunning(server.identity)) {
    const answer = await ask(access);
    if (answer?.pid === server.identity.pid && !answer.loading) return undefined;
    if (performance.now() > deadline) {
      await endProcess('Redis', server.identity, STOP_STEPS);
      break;
    }
    await delay(READY_POLL_MS);
  }
  return server.logged();
}

/** Asks whoever listens for its process number; undefined unless it is a Redis that knows our password. */
async function ask(access: StoreAccess): Promise<{ pid: number; loading: boolean } | undefined> {
  const client = new Redis({
    host: '127.0.0.1',
    port: access.port,
    password: access.password,
    lazyConnect: true,
    enableReadyCheck: false,
    connectTimeout: 2_000,
    commandTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const info = await client.info();
    const pid = Number(/^process_id:(\d+)/m.exec(info)?.[1]);
    return Number.isInteger(pid) ? { pid, loading: !/^loading:0/m.test(info) } : undefined;
  } catch {
    return undefined;
  } finally {
    client.disconnect();
  }
}

function describe(access: StoreAccess, identity: ProcessIdentity, gone: Promise<void>, adopted: boolean): LocalStore {
  return {
    url: `redis://:${access.password}@127.0.0.1:${access.port}/0`,
    pid: identity.pid,
    port: access.port,
    adopted,
    gone,
    // SIGTERM makes Redis write and sync its append-only file before it goes.
    stop: async () => {
      signal(identity, 'SIGCONT');
      await endProcess('Redis', identity, STOP_STEPS);
    },
  };
}
