/** Picks the user that servers and nodes run as when we are root, which PostgreSQL refuses to be, and how that user reaches its files. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Command } from '../system/server-process.js';

/** An unprivileged user. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const OWN_NAME = 'carillon-pg';
const SETPRIV_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin'];

// Bit numbers in the kernel's capability masks. The first only reads and searches, so it is preferred.
const CAPABILITIES = [
  { name: 'dac_read_search', bit: 2n },
  { name: 'dac_override', bit: 1n },
] as const;

/** The account for a cluster folder: its owner if it exists, else a user made for this; undefined when we are not root. */
export function accountFor(clusterDir: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (process.platform !== 'linux') {
    throw new Error(
      'PostgreSQL refuses to run as root: start Carillon as an ordinary user, or set CARILLON_DATABASE_URL',
    );
  }
  if (existsSync(clusterDir)) {
    const owner = statSync(clusterDir);
    if (owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  return lookUp(OWN_NAME) ?? lookUp('postgres') ?? create();
}

/**
 * The command that runs a program as that account. Where a folder on the way is closed to it (a clone below /root, say),
 * the program keeps one capability: to read and search folders regardless of their mode.
 */
export function asAccount(account: Account | undefined, command: Command, paths: readonly string[]): Command {
  if (account === undefined) return command;
  if (paths.every((file) => canReach(account, file))) return { ...command, uid: account.uid, gid: account.gid };
  const setpriv = SETPRIV_FOLDERS.map((folder) => path.join(folder, 'setpriv')).find((file) => existsSync(file));
  const capability = CAPABILITIES.find(({ bit }) => (boundingSet() & (1n << bit)) !== 0n);
  if (setpriv === undefined || capability === undefined) {
    throw new Error(
      `PostgreSQL refuses to run as root, and the user ${account.uid} cannot reach ${paths.join(' or ')}: ` +
        'move the clone and CARILLON_HOME out of the closed folder, run as an ordinary user, or set CARILLON_DATABASE_URL',
    );
  }
  return {
    ...command,
    file: setpriv,
    args: [
      `--reuid=${account.uid}`,
      `--regid=${account.gid}`,
      '--clear-groups',
      // Without this access(2), with which PostgreSQL looks for its programs, disregards the capability.
      '--securebits=+no_setuid_fixup',
      `--bounding-set=-all,+${capability.name}`,
      `--inh-caps=-all,+${capability.name}`,
      `--ambient-caps=-all,+${capability.name}`,
      '--no-new-privs',
      '--',
      command.file,
      ...command.args,
    ],
  };
}

/** True if each folder on the way lets this account pass and the file itself lets it read. */
function canReach(account: Account, file: string): boolean {
  let current = path.resolve(file);
  if (!allows(account, current, 0o5)) return false;
  while (current !== path.dirname(current)) {
    current = path.dirname(current);
    if (!allows(account, current, 0o1)) return false;
  }
  return true;
}

function allows(account: Account, file: string, bits: number): boolean {
  const { mode, uid, gid } = statSync(file);
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

function boundingSet(): bigint {
  const match = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  return match?.[1] === undefined ? 0n : BigInt(`0x${match[1]}`);
}

function lookUp(name: string): Account | undefined {
  const { stdout, status } = spawnSync('getent', ['passwd', name], { encoding: 'utf8' });
  const line =
    status === 0
      ? stdout
      : readFileSync('/etc/passwd', 'utf8')
          .split('\n')
          .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined || gid === undefined || Number(uid) === 0
    ? undefined
    : { uid: Number(uid), gid: Number(gid) };
}

/** PostgreSQL looks its user up by name, so a bare number will not do. */
function create(): Account {
  const attempts: readonly (readonly [string, readonly string[]])[] = [
    [
      '/usr/sbin/useradd',
      ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin'],
    ],
    ['/usr/sbin/adduser', ['-S', '-D', '-H']],
  ];
  const problems: string[] = [];
  for (const [file, args] of attempts) {
    if (!existsSync(file)) continue;
    try {
      execFileSync(file, [...args, OWN_NAME], { stdio: ['ignore', 'ignore', 'pipe'] });
    } catch (error) {
      problems.push(String(error));
    }
    // Another start may have made it at the same moment.
    const account = lookUp(OWN_NAME);
    if (account !== undefined) return account;
  }
  throw new Error(
    `PostgreSQL refuses to run as root and no system user ${OWN_NAME} could be made for it ` +
      `(${problems.join('; ') || 'no useradd'}): run Carillon as an ordinary user, or set CARILLON_DATABASE_URL`,
  );
}
