// Explains in one line, by the name of a setting, why a node could not start, when the operator can correct it.

import type { Config } from '../config.js';
import { CarillonError } from '../domain/errors.js';
import { parseUrl } from '../domain/url.js';

/** Returns the line, without secrets; null when no setting explains the error. */
export function startError(error: unknown, config: Config): string | null {
  if (!(error instanceof Error)) return null;
  const { code = '' } = error as { code?: string };
  if (code === 'POSTGRES_UNAVAILABLE') return unreachable('PostgreSQL', 'CARILLON_DATABASE_URL', config, error);
  if (code === 'REDIS_UNAVAILABLE') return unreachable('Redis', 'CARILLON_REDIS_URL', config, error);
  if (error instanceof CarillonError) return error.message;
  const address = `CARILLON_HOST and CARILLON_PORT are ${config.CARILLON_HOST} and ${config.CARILLON_PORT}`;
  if (code === 'EADDRINUSE') return `${address}: another program listens there`;
  if (code === 'EADDRNOTAVAIL' || code === 'EACCES') return `${address}: this address cannot be listened on (${code})`;
  if (isRefusal(code)) return `CARILLON_DATABASE_URL: PostgreSQL refuses: ${error.message}`;
  return null;
}

function unreachable(
  what: string,
  setting: 'CARILLON_DATABASE_URL' | 'CARILLON_REDIS_URL',
  config: Config,
  error: Error,
): string {
  const url = config[setting];
  // This does not parse several servers in one URL; the reason names the server then.
  const parsed = parseUrl(url);
  const where = parsed === null ? '' : ` at ${parsed.host}`;
  return `${setting}: ${what}${where} cannot be reached: ${reasonOf(error)}`;
}

/**
 * Returns whether a SQLSTATE is invalid authorization, invalid catalog (the database does not exist) or insufficient
 * privilege.
 */
function isRefusal(code: string): boolean {
  return /^(?:28...|3D000|42501)$/.test(code);
}

/** Returns the root cause: a name with several addresses fails with several errors, and an empty message. */
function reasonOf(error: Error): string {
  let deepest: Error = error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  if (deepest instanceof AggregateError && deepest.message === '') {
    return deepest.errors.map((one) => (one instanceof Error ? one.message : String(one))).join(', ');
  }
  return deepest.message;
}
