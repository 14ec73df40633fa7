/** Where the cluster is to run: the settings, the data folder, the address of the API. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { readConfig, type Config } from '../../src/config.js';
import { inUrl, reachable } from '../haproxy/haproxy.js';
import { isFree } from '../system/ports.js';
import { AlreadyRunning, claimRun, type RunClaim } from './run-file.js';
import type { StartArguments } from './start-arguments.js';
import { StartError } from './start-error.js';
import { repositoryRoot } from '../system/repository-root.js';

export interface LaunchConfig extends StartArguments {
  readonly config: Config;
  readonly home: string;
  /** Where the API is to listen: the load balancer, or the one node. */
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/** Throws a StartFault that names the setting. */
export function readLaunchConfig(wanted: StartArguments): LaunchConfig {
  const config = settings();
  const home = path.resolve(repositoryRoot(), config.CARILLON_HOME);
  const { CARILLON_HOST: host, CARILLON_PORT: port } = config;
  if (port === 0) throw new StartError('CARILLON_PORT is 0, expected a port from 1 to 65535');
  return { ...wanted, config, home, host, port, url: `http://${inUrl(reachable(host))}:${port}` };
}

/** Makes the data folder if need be and claims it. Throws a StartFault if it cannot be used, or another Carillon runs on it. */
export function claimHome({ home, url }: LaunchConfig): RunClaim {
  try {
    // As root, the user that servers run as must be able to pass.
    mkdirSync(home, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    mkdirSync(path.join(home, 'logs'), { recursive: true, mode: 0o700 });
    return claimRun(path.join(home, 'run.json'));
  } catch (error) {
    if (error instanceof AlreadyRunning) {
      throw new StartError(
        `${error.message} (${home}), with its API at ${url} unless configured otherwise. Stop that one with Ctrl-C, ` +
          'or set CARILLON_HOME and CARILLON_PORT to run a second one.',
      );
    }
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const why = ['EEXIST', 'ENOTDIR'].includes(code) ? 'it is a file or lies below one' : code;
    throw new StartError(`CARILLON_HOME is ${home}, which cannot be the data folder (${why})`);
  }
}

/** Throws a StartFault if the API's address is not to be had. */
export async function requireFreeAddress({ host, port }: LaunchConfig): Promise<void> {
  let free: boolean;
  try {
    free = await isFree(port, host);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === 'EACCES') throw new StartError(`CARILLON_PORT is ${port}, which only root may listen on (${code})`);
    throw new StartError(`CARILLON_HOST is ${host}, which is no address of this machine (${code})`);
  }
  if (free) return;
  throw new StartError(
    `Port ${port} of ${host} is taken by another program. Set CARILLON_PORT to use a different one, ` +
      `for example: CARILLON_PORT=${port + 1} npm start`,
  );
}

function settings(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}
