/**
 * Starts one PostgreSQL and one Redis for the whole test run, tells the tests where, and removes them afterwards. With
 * CARILLON_TEST_TOPOLOGY=redis-cluster,pgbouncer (either or both) the Redis is a cluster of three masters, and the tests' databases are reached
 * through PgBouncer; pgbouncer-if-there goes without it where it cannot be had.
 */
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPostgres, startRedis, type LocalStore } from '../../cluster/stores/local-stores.js';
import { identify, isRunning, signal, type ProcessIdentity } from '../../cluster/system/processes.js';
import { recordedProcess } from '../../cluster/system/server-process.js';
import { PoolerMissing, startPooler } from './pgbouncer.js';
import { startRedisCluster } from './redis-cluster.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the run's PostgreSQL; its database is for making others. */
    postgresUrl: string;
    /** Where the tests' own databases are reached: the same, or a pooler in front of it. */
    databasesUrl: string;
    /** URL of the run's Redis, which all tests share: one server or a cluster. */
    redisUrl: string;
    /** Folder of this run; everything in it is stopped and deleted at the end. */
    runDir: string;
  }
}

/** Pids are told apart within one namespace only: containers that share this memory leave each other's runs alone. */
const PREFIX = `carillon-test-${pidNamespace()}-`;
const END_TIMEOUT_MS = 5_000;
const OWNER_FILE = 'owner.json';
const OWNERLESS_MS = 60_000;
const ROOM_IN_MEMORY_BYTES = 6 * 2 ** 30;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const base = fastFolder();
  sweepDeadRuns(base);
  const runDir = mkdtempSync(path.join(base, PREFIX));
  // PostgreSQL's user must be able to pass when we are root.
  chmodSync(runDir, 0o711);
  writeFileSync(path.join(runDir, OWNER_FILE), JSON.stringify(identify(process.pid)));
  const abandon = () => removeRun(runDir);
  process.once('exit', abandon);
  const interrupted = (name: NodeJS.Signals) => {
    abandon();
    process.removeListener('SIGINT', interrupted);
    process.removeListener('SIGTERM', interrupted);
    process.kill(process.pid, name);
  };
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);

  const stores: Stoppable[] = [];
  const [postgresUrl, redisUrl] = await Promise.all([
    process.env.CARILLON_TEST_DATABASE_URL ?? started(stores, startTestPostgres(runDir)),
    process.env.CARILLON_TEST_REDIS_URL ?? started(stores, startTestRedis(runDir)),
  ]);
  const databasesUrl = await startTestPooler(stores, runDir, postgresUrl);
  project.provide('databasesUrl', databasesUrl);
  project.provide('postgresUrl', postgresUrl);
  project.provide('redisUrl', redisUrl);
  project.provide('runDir', runDir);

  return async () => {
    for (const store of stores.reverse()) await store.stop();
    process.removeListener('exit', abandon);
    process.removeListener('SIGINT', interrupted);
    process.removeListener('SIGTERM', interrupted);
    removeRun(runDir);
  };
}

function pidNamespace(): string {
  if (process.platform !== 'linux') return 'host';
  return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
}

interface Stoppable {
  readonly url: string;
  stop(): Promise<void>;
}

async function started(stores: Stoppable[], starting: Promise<Stoppable>): Promise<string> {
  const store = await starting;
  stores.push(store);
  return store.url;
}

const say = (line: string): boolean => process.stderr.write(`${line}\n`);

function isAskedFor(topology: string): boolean {
  return (process.env.CARILLON_TEST_TOPOLOGY ?? '').split(',').includes(topology);
}

/** Gives the URL of the pooler, or PostgreSQL's own where none is asked for, or none can be had and that is said to be no fault. */
async function startTestPooler(stores: Stoppable[], runDir: string, postgresUrl: string): Promise<string> {
  const ifThere = isAskedFor('pgbouncer-if-there');
  if (!ifThere && !isAskedFor('pgbouncer')) return postgresUrl;
  try {
    return await started(stores, startPooler({ dir: path.join(runDir, 'pgbouncer'), postgresUrl, say }));
  } catch (error) {
    if (!ifThere || !(error instanceof PoolerMissing)) throw error;
    say(`Not through PgBouncer this time. ${error.message}`);
    return postgresUrl;
  }
}

async function startTestRedis(runDir: string): Promise<Stoppable> {
  if (isAskedFor('redis-cluster')) return startRedisCluster({ dir: runDir, say });
  return startRedis({ dataDir: path.join(runDir, 'redis'), say });
}

/** Durability stays on, as customers run it, even where the data lies in memory. */
async function startTestPostgres(runDir: string): Promise<LocalStore> {
  return await startPostgres({ dataDir: path.join(runDir, 'postgres'), settings: { max_connections: '200' } });
}

/** Memory where there is plenty of it, otherwise the disk. */
function fastFolder(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= ROOM_IN_MEMORY_BYTES ? memory : tmpdir();
}

/** Removes what runs left behind that were killed outright. */
function sweepDeadRuns(base: string): void {
  for (const name of readdirSync(base).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = path.join(base, name);
    try {
      if (isAbandoned(folder)) removeRun(folder);
    } catch {
      // Another user's, or another sweep was quicker.
    }
  }
}

/** A folder without an owner is either just being made, or what a test still wrote while its run was being removed. */
function isAbandoned(folder: string): boolean {
  const file = path.join(folder, OWNER_FILE);
  if (!existsSync(file)) return Date.now() - statSync(folder).mtimeMs > OWNERLESS_MS;
  return !isRunning(JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity);
}

/**
 * Ends every server below the folder and deletes the folder. Nothing may be awaited in an exit handler, hence the plain
 * waiting. The immediate shutdown lets PostgreSQL give its shared memory back, which kill -9 would not.
 */
function removeRun(runDir: string): void {
  const servers = existsSync(runDir)
    ? readdirSync(runDir).flatMap((name) => recordedProcess(path.join(runDir, name)) ?? [])
    : [];
  for (const server of servers) {
    signal(server, 'SIGCONT');
    signal(server, 'SIGQUIT');
  }
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; waitedMs < END_TIMEOUT_MS && servers.some(isRunning); waitedMs += 20) {
    Atomics.wait(sleeper, 0, 0, 20);
  }
  for (const server of servers) signal(server, 'SIGKILL');
  rmSync(runDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
