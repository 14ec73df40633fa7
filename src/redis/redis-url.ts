// Parses CARILLON_REDIS_URL: one server, a Redis Cluster, or a primary that Sentinels know. Its errors never show a
// password.

import { CarillonError } from '../domain/errors.js';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

interface Access {
  /** '' for none. */
  readonly username: string;
  readonly password: string;
  readonly tls: boolean;
}

/** The parsed URL of the data Redis. */
export type RedisForm =
  | { readonly kind: 'server'; readonly url: string }
  | ({ readonly kind: 'cluster'; readonly nodes: readonly ServerAddress[] } & Access)
  | ({
      readonly kind: 'sentinel';
      readonly sentinels: readonly ServerAddress[];
      /** The name of the primary on the Sentinels. */
      readonly name: string;
      readonly db: number;
      /** Of the Sentinels themselves; '' for none. */
      readonly sentinelUsername: string;
      readonly sentinelPassword: string;
    } & Access);

const FORM =
  /^(?<tls>rediss|redis)(?:\+(?<kind>cluster|sentinel))?:\/\/(?:(?<access>[^/?#]*)@)?(?<hosts>[^/?#]*)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/i;
const HOST = /^(?<host>\[[0-9a-f:.%]+\]|[^:[\]\s]+)(?::(?<port>\d{1,5}))?$/i;
const REDIS_PORT = 6_379;
const SENTINEL_PORT = 26_379;
const EXPECTED =
  'expected redis://host:port/db, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/name-of-primary (rediss for TLS)';

/**
 * Parses the URL. Throws CarillonError INVALID_REQUEST with one line that names the setting and the error, never the
 * password.
 */
export function parseRedisUrl(url: string, setting = 'CARILLON_REDIS_URL'): RedisForm {
  const wrong = (what: string): CarillonError =>
    new CarillonError('INVALID_REQUEST', `configuration: ${setting} ${what}`);
  // The path of a socket, which the client accepts.
  if (url.startsWith('/')) return { kind: 'server', url };
  const { tls = '', kind, access = '', hosts = '', path = '', query = '' } = FORM.exec(url)?.groups ?? {};
  if (tls === '') throw wrong(`cannot be read, ${EXPECTED}`);
  const options = new URLSearchParams(query);
  const names = hosts.split(',');
  const isCluster = kind?.toLowerCase() === 'cluster' || readFlag(options, 'cluster', wrong);
  const isSentinel = kind?.toLowerCase() === 'sentinel';
  if (!isCluster && !isSentinel) {
    if (names.length === 1 && hosts !== '') return { kind: 'server', url };
    if (hosts === '') throw wrong(`names no server, ${EXPECTED}`);
    throw wrong(
      `names ${names.length} servers: add ?cluster=true when they are a Redis Cluster, or begin with redis+sentinel:// when they are Sentinels`,
    );
  }
  if (isCluster && isSentinel) throw wrong('asks for Sentinel and for Redis Cluster, expected one of them');
  const addresses = names.map((name) => {
    const address = readAddress(name, isSentinel ? SENTINEL_PORT : REDIS_PORT);
    if (address === null) throw wrong(`has "${name}" where host:port was expected`);
    return address;
  });
  const shared = { ...readAccess(access, wrong), tls: tls.toLowerCase() === 'rediss' };
  if (isCluster) {
    refuseOthers(options, ['cluster'], wrong);
    if (!/^0?$/.test(path)) throw wrong(`asks for database "${path}", but a Redis Cluster has only database 0`);
    return { kind: 'cluster', nodes: addresses, ...shared };
  }
  refuseOthers(options, ['db', 'sentinelUsername', 'sentinelPassword', 'cluster'], wrong);
  const name = decoded(path, wrong);
  if (name === '' || name.includes('/')) {
    throw wrong('does not name the primary of the Sentinels, expected redis+sentinel://host:port,host:port/name?db=0');
  }
  const db = options.get('db') ?? '0';
  if (!/^\d{1,5}$/.test(db)) throw wrong(`has db=${db}, expected the number of a database`);
  return {
    kind: 'sentinel',
    sentinels: addresses,
    name,
    db: Number(db),
    sentinelUsername: options.get('sentinelUsername') ?? '',
    sentinelPassword: options.get('sentinelPassword') ?? '',
    ...shared,
  };
}

type Wrong = (what: string) => CarillonError;

function readAddress(text: string, defaultPort: number): ServerAddress | null {
  const { host, port } = HOST.exec(text)?.groups ?? {};
  if (host === undefined) return null;
  const number = port === undefined ? defaultPort : Number(port);
  if (number < 1 || number > 65_535) return null;
  return { host: host.replace(/^\[|\]$/g, ''), port: number };
}

function readAccess(text: string, wrong: Wrong): { username: string; password: string } {
  const colon = text.indexOf(':');
  if (text !== '' && colon < 0) throw wrong('has a user without a password, expected user:password@ or :password@');
  return {
    username: decoded(text.slice(0, Math.max(colon, 0)), wrong),
    password: decoded(text.slice(colon + 1), wrong),
  };
}

function readFlag(options: URLSearchParams, name: string, wrong: Wrong): boolean {
  const value = (options.get(name) ?? 'false').toLowerCase();
  if (['true', '1', 'yes', ''].includes(value)) return true;
  if (['false', '0', 'no'].includes(value)) return false;
  throw wrong(`has ${name}=${value}, expected true or false`);
}

function refuseOthers(options: URLSearchParams, known: readonly string[], wrong: Wrong): void {
  const unknown = [...options.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) throw wrong(`has the option ${unknown.join(', ')}, known here are ${known.join(', ')}`);
}

function decoded(text: string, wrong: Wrong): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong('has a "%" that starts no escape, expected %25 for the character itself');
  }
}
