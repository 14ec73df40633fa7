// Takes a destination URL apart into what a connection and a request line need, and remembers the ones used lately.
import { LRUCache } from 'lru-cache';
import { parseUrl } from '../domain/url.js';

export interface Target {
  /** Scheme, host and port; what a connection is opened to. */
  readonly origin: string;
  /** Lower-case host name or address, without port and final dot; what limits per host count by. */
  readonly host: string;
  /** Path and query of the request line. */
  readonly path: string;
}

const MAX_TARGETS = 512;
const targets = new LRUCache<string, Target>({ max: MAX_TARGETS });

/** The parts of an absolute http or https URL; null for anything else. The fragment, which is never sent, is dropped. */
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
 * The host of a URL without its port: many services of one machine are one host, by whatever ports they go. One name is one host, whatever
 * address it has. '' for an unreadable URL, which fails its attempt by itself.
 */
export function hostOf(url: string): string {
  return parseTarget(url)?.host ?? '';
}
