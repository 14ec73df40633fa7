/** Runs PgBouncer in transaction mode in front of a PostgreSQL server; found on the machine or installed where that takes no question. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { canInstallPackages, installPackage, isExecutable } from '../../cluster/stores/debian-packages.js';
import { accountFor, asAccount } from '../../cluster/stores/postgres-account.js';
import { isRunning } from '../../cluster/system/processes.js';
import { endProcess, recordProcess, spawnServer } from '../../cluster/system/server-process.js';
import { stablePort } from './stable-port.js';

export interface Pooler {
  /** The same as the server's, but through the pooler; any database of the server's may stand in it. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface PoolerOptions {
  /** Folder for its configuration and log. */
  readonly dir: string;
  /** A superuser's URL of the server behind it. */
  readonly postgresUrl: string;
  readonly say?: (line: string) => void;
}

const FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];
const READY_TIMEOUT_MS = 20_000;
const POLL_MS = 25;

/**
 * Each client's transaction may get another connection than the one before, of a few that all share: whatever is left behind in a connection (a
 * lock, a setting, a statement's name) is soon found by somebody else.
 */
const CONNECTIONS_PER_DATABASE = 6;

export async function startPooler(options: PoolerOptions): Promise<Pooler> {
  mkdirSync(options.dir, { recursive: true, mode: 0o755 });
  const log = path.join(options.dir, 'pgbouncer.log');
  const file = await ensurePgbouncer(path.join(options.dir, 'install.log'), options.say ?? (() => undefined));
  const port = await stablePort();
  const configuration = path.join(options.dir, 'pgbouncer.ini');
  writeFileSync(configuration, configurationOf(new URL(options.postgresUrl), port), { mode: 0o600 });
  // It refuses to be root, as PostgreSQL does; the user made for that one will do.
  const account = accountFor(path.join(options.dir, 'none'));
  if (account !== undefined) {
    chmodSync(options.dir, 0o755);
    chownSync(configuration, account.uid, account.gid);
  }
  const command = { file, args: [configuration], cwd: options.dir };
  const server = await spawnServer(asAccount(account, command, [file, configuration]), log);
  recordProcess(options.dir, server.identity);
  const url = new URL(options.postgresUrl);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  while (!(await answers(url.href))) {
    if (!isRunning(server.identity) || performance.now() > deadlineMs) {
      throw new Error(`PgBouncer did not start; its log ends with:\n${server.logged()}`);
    }
    await delay(POLL_MS);
  }
  return {
    url: url.href,
    stop: () =>
      endProcess('PgBouncer', server.identity, [
        { signal: 'SIGQUIT', waitMs: 5_000 },
        { signal: 'SIGKILL', waitMs: 5_000 },
      ]),
  };
}

function configurationOf(postgres: URL, port: number): string {
  const quoted = (text: string): string => `'${decodeURIComponent(text).replaceAll("'", "''")}'`;
  const target = `host=${postgres.hostname} port=${postgres.port} user=${quoted(postgres.username)} password=${quoted(postgres.password)}`;
  return `[databases]
* = ${target}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${CONNECTIONS_PER_DATABASE}
max_client_conn = 2000
server_idle_timeout = 10
`;
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The program is not there and could not be installed; the message says how to. */
export class PoolerMissing extends Error {}

/** Finds the program or, as root on a Debian machine, installs it; otherwise throws with the one command to type. */
async function ensurePgbouncer(log: string, say: (line: string) => void): Promise<string> {
  const found = findPgbouncer();
  if (found !== undefined) return found;
  const how = process.platform === 'darwin' ? 'brew install pgbouncer' : 'sudo apt-get install -y pgbouncer';
  const missing = `The tests of topologies need PgBouncer: ${how}`;
  if (!canInstallPackages()) throw new PoolerMissing(missing);
  say(`PgBouncer is not installed: installing pgbouncer with apt-get (output in ${log})`);
  try {
    await installPackage('pgbouncer', log, 'pgbouncer.service');
  } catch (error) {
    throw new PoolerMissing(missing, { cause: error });
  }
  const installed = findPgbouncer();
  if (installed === undefined) throw new PoolerMissing(missing);
  return installed;
}

function findPgbouncer(searchPath = process.env.PATH ?? ''): string | undefined {
  const folders = [...searchPath.split(path.delimiter).filter((folder) => folder !== ''), ...FOLDERS];
  return folders
    .map((folder) => path.join(folder, 'pgbouncer'))
    .find((file) => isExecutable(file) && spawnSync(file, ['--version'], { timeout: 10_000 }).status === 0);
}
