/** Finds the machine's HAProxy, and installs it where that takes no question. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { canInstallPackages, installPackage, isExecutable } from '../stores/debian-packages.js';

/** A program that serves our configuration. */
export interface HaproxyBinary {
  readonly file: string;
  readonly version: string;
}

/** The first with conditions in its configuration, which ours has. */
const OLDEST = { major: 2, minor: 4 };

// Ordinary users have no sbin on their PATH, and Debian puts it there.
const FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin', '/opt/local/sbin'];

/** The first usable program on the PATH or where package managers put it; undefined if there is none. */
function findHaproxyBinary(searchPath = process.env.PATH ?? ''): HaproxyBinary | undefined {
  const folders = [...new Set([...searchPath.split(path.delimiter).filter((folder) => folder !== ''), ...FOLDERS])];
  for (const folder of folders) {
    const found = probe(path.join(folder, 'haproxy'));
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Finds the program or, as root on a Debian machine, installs it; otherwise throws with the one command to type.
 * `say` gets a line before anything is installed; the installer's own output goes to `log`.
 */
export async function ensureHaproxyBinary(log: string, say: (line: string) => void): Promise<HaproxyBinary> {
  const found = findHaproxyBinary();
  if (found !== undefined) return found;
  if (canInstallPackages()) {
    say(`HAProxy is not installed: installing haproxy with apt-get (output in ${log})`);
    await installPackage('haproxy', log, 'haproxy.service');
    const installed = findHaproxyBinary();
    if (installed !== undefined) return installed;
  }
  throw new Error(
    `Several nodes need HAProxy, version ${OLDEST.major}.${OLDEST.minor} or newer, in front of them: ${howToInstall()} ` +
      '(or run one node without it: npm start -- --single)',
  );
}

function probe(file: string): HaproxyBinary | undefined {
  if (!isExecutable(file)) return undefined;
  const { stdout, status } = spawnSync(file, ['-v'], { encoding: 'utf8', timeout: 10_000 });
  const match = /^HA-?Proxy version (\d+)\.(\d+)(\S*)/im.exec(status === 0 ? stdout : '');
  if (match === null) return undefined;
  const [, major, minor, rest] = match;
  const isRecent = Number(major) > OLDEST.major || (Number(major) === OLDEST.major && Number(minor) >= OLDEST.minor);
  return isRecent ? { file, version: `${major}.${minor}${rest}` } : undefined;
}

function howToInstall(): string {
  if (process.platform === 'darwin') return 'brew install haproxy';
  return 'sudo apt-get update && sudo apt-get install -y haproxy';
}
