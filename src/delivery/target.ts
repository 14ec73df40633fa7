// Splits a destination URL into the parts that a connection and a request line need, and caches recent ones.
import { LRUCache } from 'lru-cache';
import { parseUrl } from '../domain/url.js';

export interface Target {
  /** Scheme, host and port: the origin to connect to. */
  readonly origin: string;
  /** Lower-case host name or address, without port and final dot; limits per host count by it. */
  readonly host: string;
  /** Path and query of the request line. */
  readonly path: string;
}

const MAX_TARGETS = 512;
const targets = new LRUCache<string, Target>({ max: MAX_TARGETS });

/**
 * Returns the parts of an absolute http or https URL; null for anything else. Drops the fragment, which is never sent.
 */
export function parseTarget(url: string): Target | null {
  const known = targets.get(url);
  if (known !== undefined) return known;
  const parsed = parseUrl(url);
  if (parsed === null) return null;
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return null;
  const target: Target = {
    origin: parsed.origin,
    host: parsed.hostname.replace(/\.$/, ''),
    path: parsed.pathname + parsed.search,
  };
  targets.set(url, target);
  return target;
}

/**
 * Returns the host of a URL without its port: all services on one machine count as one host, whatever their ports. One
 * name is one host, whatever its addresses. Returns '' for an invalid URL, whose attempt fails anyway.
 */
export function hostOf(url: string): string {
  return parseTarget(url)?.host ?? '';
}
