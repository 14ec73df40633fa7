/** Finds the machine's Redis or Valkey server program, and installs it where that takes no question. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { canInstallPackages, installPackage, isExecutable } from './debian-packages.js';

/** A server program and the name it must see itself called by. */
export interface RedisBinary {
  readonly file: string;
  readonly argv0: string;
  readonly version: string;
}

const OLDEST_MAJOR = 7;

// Debian's redis-tools holds the server program as redis-check-rdb: one program that goes by the name it is called by.
const PROGRAMS = ['redis-server', 'valkey-server', 'redis-check-rdb', 'valkey-check-rdb'];
const FOLDERS = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/usr/local/sbin', '/usr/sbin', '/opt/local/bin'];

/** The first usable server program on the PATH or where package managers put it; undefined if there is none. */
function findRedisBinary(searchPath = process.env.PATH ?? ''): RedisBinary | undefined {
  const folders = [...new Set([...searchPath.split(path.delimiter).filter((folder) => folder !== ''), ...FOLDERS])];
  for (const program of PROGRAMS) {
    for (const folder of folders) {
      const found = probe(path.join(folder, program), program.replace('check-rdb', 'server'));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/**
 * Finds the program or, as root on a Debian machine, installs it; otherwise throws with the one command to type.
 * `say` gets a line before anything is installed; the installer's own output goes to `log`.
 */
export async function ensureRedisBinary(log: string, say: (line: string) => void): Promise<RedisBinary> {
  const found = findRedisBinary();
  if (found !== undefined) return found;
  if (canInstallPackages()) {
    say(`Redis is not installed: installing redis-tools with apt-get (output in ${log})`);
    // This package has the program without the system service, user and port 6379 that redis-server brings along.
    await installPackage('redis-tools', log);
    const installed = findRedisBinary();
    if (installed !== undefined) return installed;
  }
  throw new Error(`Carillon needs redis-server or valkey-server, ${wanted()}: ${howToInstall()}`);
}

function probe(file: string, argv0: string): RedisBinary | undefined {
  if (!isExecutable(file)) return undefined;
  const { stdout, status } = spawnSync(file, ['--version'], { argv0, encoding: 'utf8', timeout: 10_000 });
  const match = /server\b.*?\bv=(\d+)\.(\d+)(\S*)/i.exec(status === 0 ? stdout : '');
  if (match === null) return undefined;
  const [, major, minor, rest] = match;
  if (Number(major) < OLDEST_MAJOR) return undefined;
  return { file, argv0, version: `${major}.${minor}${rest}` };
}

function wanted(): string {
  return `version ${OLDEST_MAJOR} or newer`;
}

function howToInstall(): string {
  if (process.platform === 'darwin') return 'brew install redis';
  return 'sudo apt-get update && sudo apt-get install -y redis-tools (or set CARILLON_REDIS_URL to use a server you have)';
}
