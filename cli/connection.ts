/** Where the API is and with what to call it: connection.json of a running Carillon, or the command line. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseUrl } from '../src/domain/url.js';
import { CliError, usageError, type Io } from './io.js';
import { repositoryRoot as findRepositoryRoot } from '../cluster/system/repository-root.js';

export interface ConnectionOptions {
  readonly home?: string;
  readonly url?: string;
  readonly token?: string;
  readonly adminToken?: string;
}

export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string | null;
  readonly adminToken: string | null;
  /** What to do when nobody listens there. */
  readonly advice: string;
}

/** Throws a CliFault that says what is missing. */
export function connectionOf(options: ConnectionOptions, io: Io): Connection {
  const { url, token = null, adminToken = null } = options;
  if (url !== undefined) {
    // A token that was found in a file must not go to an address from the command line.
    if (token === null && adminToken === null) throw usageError('--url needs --token (or --admin-token) with it');
    return { url: checkUrl(url, '--url'), token, adminToken, advice: 'is this the address of a running Carillon?' };
  }
  const found = readConnection(homeOf(options, io));
  return {
    ...found,
    token: token ?? found.token,
    adminToken: adminToken ?? found.adminToken,
  };
}

/** As `npm start` reads it: CARILLON_HOME, relative to the repository, wherever the client is called. */
export function homeOf(options: ConnectionOptions, io: Io): string {
  if (options.home !== undefined) return path.resolve(options.home);
  const configured = io.environment.CARILLON_HOME ?? '';
  return path.resolve(repositoryRoot(), configured === '' ? '.carillon' : configured);
}

/** As the launcher finds it. Throws CliError when there is none. */
export function repositoryRoot(): string {
  try {
    return findRepositoryRoot();
  } catch (error) {
    throw new CliError((error as Error).message, 1);
  }
}

function readConnection(home: string): Connection {
  const file = path.join(home, 'connection.json');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw new CliError(`${file} cannot be read: ${message}`, 1);
    throw new CliError(
      `no connection.json in ${home}: is \`npm start\` running? (otherwise give --home, or --url and --token)`,
      1,
    );
  }
  const { url, token, adminToken } = parsed(text, file);
  if (typeof url !== 'string') throw new CliError(`${file} has no "url": start Carillon again to have it written`, 1);
  return {
    url: checkUrl(url, file),
    token: typeof token === 'string' ? token : null,
    adminToken: typeof adminToken === 'string' ? adminToken : null,
    advice: 'is `npm start` running?',
  };
}

function parsed(text: string, file: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new CliError(`${file} is not JSON: start Carillon again to have it written`, 1);
}

function checkUrl(url: string, where: string): string {
  // An empty host is no host: parsers take the next segment for it.
  if (/^https?:\/\/[^/?#@:\\]/i.test(url) && parseUrl(url) !== null) return url.replace(/\/+$/, '');
  throw usageError(`${where}: ${JSON.stringify(url.slice(0, 80))} is no URL, expected http://host:port`);
}
