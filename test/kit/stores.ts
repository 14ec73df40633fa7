/** Gives each test its own database or Redis prefix on the run's shared servers, or a private server it may break. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { childrenOf, startPostgres, startRedis, type LocalStore } from '../../cluster/stores/local-stores.js';
import { identify, signal, untilGone, type ProcessIdentity } from '../../cluster/system/processes.js';
import { stablePort } from './stable-port.js';

export interface FreshDatabase {
  readonly url: string;
  /** The same database without a pooler in between, which would hold connections to it. */
  readonly serverUrl: string;
  /** Ends whoever is still connected and removes the database. */
  drop(): Promise<void>;
}

export interface FreshRedis {
  readonly url: string;
  /** Begins every key this test may touch. */
  readonly prefix: string;
}

/** A server process of this test alone. */
export interface OwnStore {
  /** Stays the same over restarts. */
  readonly url: string;
  readonly pid: number;
  /** kill -9, and waits until it is gone. */
  kill9(): Promise<void>;
  /** Stops it in order if it runs, and starts it again on the same data and port. */
  restart(): Promise<void>;
  /** Freezes it, every process of it: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Stops it and deletes its data. */
  stop(): Promise<void>;
}

/**
 * Makes an empty database with a name of its own. With `template`, a database that nobody is connected to, it starts as a
 * copy of that one: migrate once, copy often.
 */
export async function freshDatabase(template?: string): Promise<FreshDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer((client) => client.query(`create database ${name} template ${template ?? 'template0'}`));
  const urlAt = (server: string): string => Object.assign(new URL(server), { pathname: `/${name}` }).href;
  return {
    url: urlAt(inject('databasesUrl')),
    serverUrl: urlAt(inject('postgresUrl')),
    drop: async () => {
      await onServer((client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
}

/** A key prefix of this test's own on the shared Redis. */
export function freshRedis(): FreshRedis {
  return { url: inject('redisUrl'), prefix: `t${randomBytes(6).toString('hex')}:` };
}

/** A Redis server that the test may kill, freeze or empty. `settings` are lines of redis.conf by name. */
export async function ownRedis(settings: Readonly<Record<string, string>> = {}): Promise<OwnStore> {
  const options = { dataDir: newFolder('redis'), settings, port: await stablePort() };
  return ownStore(options.dataDir, () => startRedis(options), await startRedis(options));
}

/** A PostgreSQL server that the test may kill or freeze. `settings` are server settings by name. */
export async function ownPostgres(settings: Readonly<Record<string, string>> = {}): Promise<OwnStore> {
  const options = { dataDir: newFolder('postgres'), settings, port: await stablePort() };
  return ownStore(options.dataDir, () => startPostgres(options), await startPostgres(options));
}

function ownStore(dataDir: string, start: () => Promise<LocalStore>, first: LocalStore): OwnStore {
  let current = first;
  return {
    get url() {
      return current.url;
    },
    get pid() {
      return current.pid;
    },
    kill9: async () => {
      const identity = identify(current.pid);
      if (identity === undefined) return;
      signal(identity, 'SIGKILL');
      if (!(await untilGone(identity, 5_000))) throw new Error(`process ${identity.pid} outlived kill -9`);
    },
    restart: async () => {
      await current.stop();
      current = await start();
    },
    pause: () => {
      for (const identity of family(current.pid)) signal(identity, 'SIGSTOP');
    },
    resume: () => {
      for (const identity of family(current.pid).reverse()) signal(identity, 'SIGCONT');
    },
    stop: async () => {
      await current.stop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

/** The server and, for PostgreSQL, its process for each connection: parent first, so that a frozen one has no new child. */
function family(pid: number): ProcessIdentity[] {
  return [pid, ...childrenOf(pid)].flatMap((member) => identify(member) ?? []);
}

function newFolder(what: string): string {
  const folder = path.join(inject('runDir'), `${what}-${randomBytes(6).toString('hex')}`);
  mkdirSync(folder, { mode: 0o711 });
  return folder;
}

async function onServer(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
