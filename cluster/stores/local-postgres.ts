/** Runs a private PostgreSQL server whose data lies in one folder and survives restarts and crashes. */
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { readAccess, writeAccess, type StoreAccess } from '../launcher/access-file.js';
import { freePort, isFree } from '../system/ports.js';
import { accountFor, asAccount, type Account } from './postgres-account.js';
import { postgresBinaries, type PostgresBinaries } from './postgres-binaries.js';
import { identify, isRunning, signal, type ProcessIdentity } from '../system/processes.js';
import {
  endProcess,
  recordProcess,
  runToEnd,
  spawnServer,
  untilAdoptedGone,
  type LocalStore,
  type ServerProcess,
} from '../system/server-process.js';

export interface PostgresOptions {
  /** Folder for the cluster, its log and access; made if missing. */
  readonly dataDir: string;
  /** Listen here instead of on the port kept from last time, or a free one. */
  readonly port?: number | undefined;
  /** File for the server's output; default `postgres.log` in the folder. */
  readonly log?: string;
  /** Server settings, by name, that replace the ones below. */
  readonly settings?: Readonly<Record<string, string>>;
}

const USER = 'carillon';
const DATABASE = 'carillon';
const READY_TIMEOUT_MS = 120_000;
const ADOPT_TIMEOUT_MS = 30_000;
const READY_POLL_MS = 30;
/** After a kill -9 the server processes of the connections take a moment to notice and let go of the shared memory. */
const SHARED_MEMORY_TIMEOUT_MS = 20_000;
const PORT_ATTEMPTS = 5;
const STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 45_000 },
  { signal: 'SIGQUIT', waitMs: 10_000 },
] as const;

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '192MB',
  max_connections: '100',
  // A node behind a cut network is given up in half a minute, and not in two hours.
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '15000',
  max_wal_size: '2GB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',
};

/**
 * Starts the server, making the cluster and the database `carillon` the first time, and waits until it answers. If the
 * server of an earlier run still runs on this folder it is taken over, or stopped when it no longer answers.
 */
export async function startPostgres(options: PostgresOptions): Promise<LocalStore> {
  const dataDir = path.resolve(options.dataDir);
  const clusterDir = path.join(dataDir, 'cluster');
  const log = options.log ?? path.join(dataDir, 'postgres.log');
  // The user the server runs as must be able to pass; the cluster within is closed to others.
  const access = readAccess(dataDir, 0o711);
  const binaries = postgresBinaries();
  const account = accountFor(clusterDir);
  if (!existsSync(path.join(clusterDir, 'PG_VERSION')))
    await makeCluster(binaries, dataDir, clusterDir, access, account);

  const left = await leftRunning(clusterDir, access);
  if (left !== undefined) {
    const gone = untilAdoptedGone(left.identity);
    return describe({ ...access, port: left.port }, left.identity, gone, true);
  }
  const sharedMemoryDeadline = performance.now() + SHARED_MEMORY_TIMEOUT_MS;
  for (let attempt = 1; ;) {
    const kept = options.port ?? access.port;
    const port = kept !== 0 && (options.port !== undefined || (await isFree(kept))) ? kept : await freePort();
    const current = { ...access, port };
    writeAccess(dataDir, current);
    const server = await launch(binaries, clusterDir, port, account, options, log);
    recordProcess(dataDir, server.identity);
    const failure = await untilReady(server, current);
    if (failure === undefined) return describe(current, server.identity, server.gone, false);
    if (/pre-existing shared memory/i.test(failure) && performance.now() < sharedMemoryDeadline) {
      await delay(200);
    } else if (/address already in use/i.test(failure) && options.port === undefined && attempt < PORT_ATTEMPTS) {
      attempt += 1;
    } else {
      throw new Error(`PostgreSQL did not start on port ${port}; its log ${log} ends with:\n${failure}`);
    }
  }
}

/** Runs initdb beside the final place and moves the result there whole, so that an interrupted one leaves nothing half made. */
async function makeCluster(
  binaries: PostgresBinaries,
  dataDir: string,
  clusterDir: string,
  access: StoreAccess,
  account: Account | undefined,
): Promise<void> {
  const draft = path.join(dataDir, 'cluster.new');
  const passwordFile = path.join(dataDir, 'cluster.password');
  rmSync(draft, { recursive: true, force: true });
  rmSync(passwordFile, { force: true });
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile, access.password, { mode: 0o600 });
  if (account !== undefined) {
    chownSync(draft, account.uid, account.gid);
    chownSync(passwordFile, account.uid, account.gid);
  }
  try {
    const command = asAccount(
      account,
      {
        file: binaries.initdb,
        args: [
          `--pgdata=${draft}`,
          `--username=${USER}`,
          `--pwfile=${passwordFile}`,
          '--auth=scram-sha-256',
          '--encoding=UTF8',
          '--locale=C',
          '--locale-provider=builtin',
          '--builtin-locale=C.UTF-8',
          '--no-instructions',
        ],
        cwd: '/',
        env: serverEnvironment(),
      },
      [binaries.initdb, draft, passwordFile],
    );
    await runToEnd(command);
    renameSync(draft, clusterDir);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

async function launch(
  binaries: PostgresBinaries,
  clusterDir: string,
  port: number,
  account: Account | undefined,
  options: PostgresOptions,
  log: string,
): Promise<ServerProcess> {
  const settings = { ...SETTINGS, ...options.settings, port: String(port) };
  const args = ['-D', clusterDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
  const command = { file: binaries.postgres, args, cwd: '/', env: serverEnvironment() };
  return await spawnServer(asAccount(account, command, [binaries.postgres, clusterDir]), log);
}

/** Only what the server needs: a PG* variable of the user's shell must not reach it, nor a locale the machine lacks. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

/** The live server of an earlier run on this cluster, if it answers. One that does not is stopped. */
async function leftRunning(
  clusterDir: string,
  access: StoreAccess,
): Promise<{ identity: ProcessIdentity; port: number } | undefined> {
  const file = path.join(clusterDir, 'postmaster.pid');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
  const lines = text.split('\n');
  const identity = identify(Number(lines[0]));
  if (identity === undefined) return undefined;
  if (!serves(identity.pid, clusterDir)) {
    // The number belongs to somebody else by now, and PostgreSQL would refuse to start. Its own parent's number it
    // recognises as stale, and the lines below, with which it looks for survivors, stay as they are.
    writeFileSync(file, [String(process.pid), ...lines.slice(1)].join('\n'));
    return undefined;
  }
  signal(identity, 'SIGCONT');
  const port = Number(lines[3]);
  const deadline = performance.now() + ADOPT_TIMEOUT_MS;
  while (isRunning(identity) && performance.now() < deadline) {
    if (Number.isInteger(port) && (await ask({ ...access, port }))) return { identity, port };
    await delay(READY_POLL_MS);
  }
  await endProcess('PostgreSQL of an earlier run', identity, STOP_STEPS);
  return undefined;
}

/** True if this process is a PostgreSQL server on this cluster: its working folder is the cluster itself. */
function serves(pid: number, clusterDir: string): boolean {
  try {
    if (process.platform === 'linux') return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(clusterDir);
    const command = execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return command.includes(`-D ${clusterDir} `);
  } catch {
    return false;
  }
}

/** Waits for the server to answer; returns the end of its log if it ended or took too long. */
async function untilReady(server: ServerProcess, access: StoreAccess): Promise<string | undefined> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (isRunning(server.identity)) {
    if (await ask(access)) return undefined;
    if (performance.now() > deadline) {
      await endProcess('PostgreSQL', server.identity, STOP_STEPS);
      break;
    }
    await delay(READY_POLL_MS);
  }
  return server.logged();
}

/** True if the server answers with our password; makes our database when it is missing. */
async function ask(access: StoreAccess): Promise<boolean> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: access.port,
    user: USER,
    password: access.password,
    database: 'postgres',
    connectionTimeoutMillis: 5_000,
    query_timeout: 30_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE} template template0`);
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function describe(access: StoreAccess, identity: ProcessIdentity, gone: Promise<void>, adopted: boolean): LocalStore {
  return {
    url: `postgres://${USER}:${access.password}@127.0.0.1:${access.port}/${DATABASE}`,
    pid: identity.pid,
    port: access.port,
    adopted,
    gone,
    // SIGINT is PostgreSQL's fast shutdown: connections are ended, a checkpoint is written.
    stop: async () => {
      signal(identity, 'SIGCONT');
      await endProcess('PostgreSQL', identity, STOP_STEPS);
    },
  };
}
