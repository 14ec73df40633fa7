/** Installs a Debian package where that takes no question: as root, on a machine with apt. */
import { spawn } from 'node:child_process';
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';

const APT = '/usr/bin/apt-get';
const SYSTEMCTL = '/usr/bin/systemctl';

/** True if `installPackage` may be tried here. */
export function canInstallPackages(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && isExecutable(APT);
}

/** True if this file is there and may be run. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Installs one package; the installer's own output goes to `log`. Throws with the reason's place if it could not.
 * `service` is a system service that the package brings along: we start a server of our own, so it is not to run.
 */
export async function installPackage(name: string, log: string, service?: string): Promise<void> {
  mkdirSync(path.dirname(log), { recursive: true });
  const options = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=120', '-o', 'Acquire::Retries=3'];
  // An index that cannot be refreshed may still do.
  const updated = await run(APT, [...options, 'update'], log);
  const installed = await run(APT, [...options, '--no-install-recommends', 'install', name], log);
  if (installed !== 0) {
    throw new Error(
      `apt-get could not install ${name} (update ended with ${updated}, install with ${installed}; see ${log})`,
    );
  }
  if (service !== undefined && existsSync('/run/systemd/system')) {
    await run(SYSTEMCTL, ['disable', '--now', service], log);
  }
}

async function run(file: string, args: readonly string[], log: string): Promise<number> {
  const descriptor = openSync(log, 'a');
  try {
    return await new Promise((resolve, reject) => {
      const child = spawn(file, args, {
        stdio: ['ignore', descriptor, descriptor],
        // In runlevel 1 init scripts start nothing: that keeps the package's service down where there is no systemd.
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_MODE: 'l', RUNLEVEL: '1' },
      });
      child.once('error', reject);
      child.once('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    closeSync(descriptor);
  }
}
