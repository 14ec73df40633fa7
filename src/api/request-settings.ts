// Collects what a request says about itself: settings by name, and the headers to forward; from HTTP headers, query keys or a
// batch item, which all mean the same.

import type { Config } from '../config.js';
import type { HeaderMap } from '../domain/message.js';
import { CarillonError } from '../domain/errors.js';
import { nearestName } from '../domain/nearest-name.js';
import { canonicalHeaderName, isForwardable, toHeaderBytes } from '../delivery/request-headers.js';
import { TENANT_HEADER } from './auth.js';
import { depthAfter, isDepthHeader } from './depth.js';
import { decodeHeaderText, isHeaderName, isHeaderValue } from './header-text.js';
import type { QuerySettings } from './raw-target.js';

/** The settings of Carillon's own: each is known, so that a mistyped one is refused and not silently ignored. */
const CARILLON_SETTINGS = [
  'Carillon-Idempotency-Key',
  'Carillon-Misfire',
  'Carillon-Overlap',
  'Carillon-Window',
  'Carillon-Start',
  'Carillon-End',
  'Carillon-Anchor',
  'Carillon-Time-Zone',
  'Carillon-Keep',
] as const;
const KNOWN_CARILLON: ReadonlySet<string> = new Set(CARILLON_SETTINGS.map((name) => name.toLowerCase()));

export interface RequestSettings {
  /** Values as text, by lower-case name (`upstash-delay`); blank ones are left out. */
  readonly values: ReadonlyMap<string, string>;
  /** Content-Type and the headers to forward, as they will be sent. */
  readonly forwarded: HeaderMap;
  readonly callbackForwarded: HeaderMap;
  readonly failureCallbackForwarded: HeaderMap;
  /** How deep what is made by the request lies (depth.ts). */
  readonly depth: number;
}

/** A header as it came in. `bytes`: a value of a real HTTP header. `text`: one that came in JSON or percent-encoded. */
interface Entry {
  readonly name: string;
  readonly value: string;
  readonly form: 'bytes' | 'text';
}

const FORWARD = 'upstash-forward-';
const CALLBACK_FORWARD = 'upstash-callback-forward-';
const FAILURE_CALLBACK_FORWARD = 'upstash-failure-callback-forward-';

/** Lists may come in several headers of one name, as HTTP allows. */
const LISTS: ReadonlySet<string> = new Set(['upstash-label', 'upstash-redact-fields']);

export interface HttpSource {
  /** Names and values by turns, as node:http gives them. */
  readonly rawHeaders: readonly string[];
  readonly query: QuerySettings;
  /** Whether Authorization holds our token, which must not reach a destination. */
  readonly authorizationIsOurs: boolean;
}

/** How many headers a request or an item may have, and how many bytes of them may be forwarded. */
export interface HeaderLimits {
  readonly maxBytes: number;
  readonly maxCount: number;
}

export function headerLimits(config: Config): HeaderLimits {
  return { maxBytes: config.CARILLON_HEADERS_MAX_BYTES, maxCount: config.CARILLON_HEADERS_COUNT_MAX };
}

/** The settings of an HTTP request. A header wins over a query key. Throws INVALID_REQUEST, LIMIT_EXCEEDED. */
export function settingsOfHttp(source: HttpSource, limits: HeaderLimits): RequestSettings {
  const entries: Entry[] = [];
  for (let index = 0; index + 1 < source.rawHeaders.length; index += 2) {
    const name = source.rawHeaders[index] ?? '';
    // It says who calls, and is no setting.
    if (name.toLowerCase() === TENANT_HEADER) continue;
    entries.push({ name, value: source.rawHeaders[index + 1] ?? '', form: 'bytes' });
  }
  if (source.query.length > 0) {
    const given = new Set(entries.map((entry) => entry.name.toLowerCase()));
    for (const [name, value] of source.query) if (!given.has(name)) entries.push({ name, value, form: 'text' });
  }
  return collect(entries, source.authorizationIsOurs, limits);
}

/**
 * The settings of a batch item: `headers` is an object of names and strings (or lists of strings); `depth` is that of the batch. Throws as
 * settingsOfHttp does.
 */
export function settingsOfObject(headers: unknown, limits: HeaderLimits, depth = 0): RequestSettings {
  if (headers === undefined || headers === null) return collect([], true, limits, depth);
  if (typeof headers !== 'object' || Array.isArray(headers)) {
    throw new CarillonError('INVALID_REQUEST', 'headers: expected an object of header names and strings');
  }
  const entries: Entry[] = [];
  for (const [name, given] of Object.entries(headers)) {
    if (given === null) continue;
    for (const value of Array.isArray(given) ? (given as unknown[]) : [given]) {
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
        throw new CarillonError('INVALID_REQUEST', `headers: ${shown(name)} is no string, expected a string`);
      }
      entries.push({ name, value: String(value), form: 'text' });
      // Not built up to be refused.
      if (entries.length > limits.maxCount) throw tooMany(limits.maxCount);
    }
  }
  return collect(entries, true, limits, depth);
}

/** The headers to forward with deliveries, with callbacks, and with failure callbacks. */
type Forwarded = 'forwarded' | 'callbackForwarded' | 'failureCallbackForwarded';

class Collector {
  readonly values = new Map<string, string>();
  /** Made when the first comes in: most requests forward few headers or none, and a batch has a thousand items. */
  readonly #headers: Partial<Record<Forwarded, Map<string, string[]>>> = {};
  #bytes = 0;
  depth: number;

  constructor(
    private readonly maxBytes: number,
    depth: number,
  ) {
    this.depth = depth;
  }

  set(name: string, entry: Entry): void {
    const text = (entry.form === 'bytes' ? decodeHeaderText(entry.value) : entry.value).trim();
    if (text === '') return;
    const before = this.values.get(name);
    if (before !== undefined && !LISTS.has(name)) {
      throw new CarillonError('INVALID_REQUEST', `${canonicalHeaderName(name)} is given more than once, expected once`);
    }
    this.values.set(name, before === undefined ? text : `${before},${text}`);
  }

  forward(to: Forwarded, name: string, entry: Entry): void {
    if (!isHeaderName(name)) {
      throw new CarillonError('INVALID_REQUEST', `${shown(entry.name)} names no header to forward: ${shown(name)}`);
    }
    if (!isForwardable(name)) return;
    const value = entry.form === 'bytes' ? entry.value : toHeaderBytes(entry.value);
    const canonical = canonicalHeaderName(name);
    this.#bytes += canonical.length + value.length;
    if (this.#bytes > this.maxBytes) {
      throw new CarillonError(
        'LIMIT_EXCEEDED',
        `the headers to forward have ${this.#bytes} bytes and more, at most ${this.maxBytes} are allowed (CARILLON_HEADERS_MAX_BYTES)`,
      );
    }
    const headers = (this.#headers[to] ??= new Map<string, string[]>());
    const values = headers.get(canonical);
    if (values === undefined) headers.set(canonical, [value]);
    else values.push(value);
  }

  forwards(name: string): boolean {
    return this.#headers.forwarded?.has(name) ?? false;
  }

  headers(to: Forwarded): HeaderMap {
    const headers = this.#headers[to];
    return headers === undefined ? {} : Object.fromEntries(headers);
  }
}

function tooMany(maxCount: number): CarillonError {
  return new CarillonError(
    'LIMIT_EXCEEDED',
    `there are more than ${maxCount} headers, which is the most that is allowed (CARILLON_HEADERS_COUNT_MAX)`,
  );
}

function collect(
  entries: readonly Entry[],
  authorizationIsOurs: boolean,
  { maxBytes, maxCount }: HeaderLimits,
  outerDepth = 0,
): RequestSettings {
  if (entries.length > maxCount) throw tooMany(maxCount);
  const into = new Collector(maxBytes, outerDepth);
  const others: Entry[] = [];
  for (const entry of entries) {
    // What came in a header can go out in one.
    if (entry.form === 'text' && !isHeaderValue(entry.value)) {
      throw new CarillonError(
        'INVALID_REQUEST',
        `the value of ${shown(entry.name)} has a character that no header can carry: a line break, NUL, another control character or a lone surrogate`,
      );
    }
    const name = entry.name.toLowerCase();
    if (!name.startsWith('upstash-') && !name.startsWith('carillon-')) others.push(entry);
    else if (isDepthHeader(name)) into.depth = Math.max(into.depth, depthAfter(entry.value));
    else if (name.startsWith('carillon-')) setCarillon(into, name, entry);
    else if (name.startsWith(FORWARD)) forwardOrSet(into, name.slice(FORWARD.length), entry);
    else if (name.startsWith(CALLBACK_FORWARD))
      into.forward('callbackForwarded', name.slice(CALLBACK_FORWARD.length), entry);
    else if (name.startsWith(FAILURE_CALLBACK_FORWARD)) {
      into.forward('failureCallbackForwarded', name.slice(FAILURE_CALLBACK_FORWARD.length), entry);
    } else into.set(name, entry);
  }
  forwardOthers(into, others, authorizationIsOurs);
  return {
    values: into.values,
    forwarded: into.headers('forwarded'),
    callbackForwarded: into.headers('callbackForwarded'),
    failureCallbackForwarded: into.headers('failureCallbackForwarded'),
    depth: into.depth,
  };
}

/**
 * The official clients prefix every header of the user's that is not `Upstash-…` with `Upstash-Forward-`. So a setting of
 * Carillon's arrives here as one to forward, and is meant as a setting; deliveries never forward such names.
 */
function forwardOrSet(into: Collector, name: string, entry: Entry): void {
  if (!name.startsWith('carillon-')) into.forward('forwarded', name, entry);
  // Set on deliveries; a handler that passes on all headers it got means nothing by it.
  else if (name !== 'carillon-occurrence') setCarillon(into, name, entry);
}

function setCarillon(into: Collector, name: string, entry: Entry): void {
  if (KNOWN_CARILLON.has(name)) {
    into.set(name, entry);
    return;
  }
  const nearest = nearestName(canonicalHeaderName(name.slice(0, 64)), CARILLON_SETTINGS);
  throw new CarillonError('INVALID_REQUEST', `${shown(entry.name)} is no setting; did you mean ${nearest}?`);
}

/** Content-Type always goes on; everything else only in webhook mode (Upstash-Header-Forward: true). */
function forwardOthers(into: Collector, others: readonly Entry[], authorizationIsOurs: boolean): void {
  const all = into.values.get('upstash-header-forward')?.toLowerCase() === 'true';
  for (const entry of others) {
    const name = entry.name.toLowerCase();
    if (name === 'content-type') {
      // One that is forwarded by its prefix is the more explicit one.
      if (!into.forwards('Content-Type')) into.forward('forwarded', name, entry);
    } else if (all && !(name === 'authorization' && authorizationIsOurs)) into.forward('forwarded', name, entry);
  }
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
