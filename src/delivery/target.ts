// Takes a destination URL apart into what a connection and a request line need, and remembers the ones used lately.
import { parseUrl } from '../domain/url.js';

export interface Target {
  /** Scheme, host and port; what a connection is opened to. */
  readonly origin: string;
  /** Lower-case host name or address, without port and final dot; what limits per host count by. */
  readonly host: string;
  /** Path and query of the request line. */
  readonly path: string;
}

const MAX_KEPT = 512;
const kept = new Map<string, Target>();

/** The parts of an absolute http or https URL; null for anything else. The fragment, which is never sent, is dropped. */
export function parseTarget(url: string): Target | null {
  const known = kept.get(url);
  if (known !== undefined) return known;
  const parsed = parseUrl(url);
  if (parsed === null) return null;
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return null;
  const target: Target = {
    origin: parsed.origin,
    host: parsed.hostname.replace(/\.$/, ''),
    path: parsed.pathname + parsed.search,
  };
  // Starting over is rare and cheap next to keeping an order of use on every delivery.
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(url, target);
  return target;
}

/**
 * The host of a URL without its port: many services of one machine are one host, by whatever ports they go. One name is one host, whatever
 * address it has. '' for an unreadable URL, which fails its attempt by itself.
 */
export function hostOf(url: string): string {
  return parseTarget(url)?.host ?? '';
}
