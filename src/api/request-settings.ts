// Collects the settings of a request by name, and the headers to forward, from HTTP headers, query keys or a batch
// item, which are equivalent.

import type { Config } from '../config.js';
import type { HeaderMap } from '../domain/message.js';
import { CarillonError } from '../domain/errors.js';
import { nearestName } from '../domain/nearest-name.js';
import { canonicalHeaderName, isForwardable, toHeaderBytes } from '../delivery/request-headers.js';
import { TENANT_HEADER } from './auth.js';
import { depthAfter, isDepthHeader } from './depth.js';
import { decodeHeaderText, isHeaderName, isHeaderValue } from './header-text.js';
import type { QuerySettings } from './raw-target.js';

/** Carillon's own settings: all are known, so that a mistyped one is refused instead of ignored. */
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
  /** Values as text, by lower-case name (`upstash-delay`), without blank ones. */
  readonly values: ReadonlyMap<string, string>;
  /** Content-Type and the headers to forward, in the form in which they are sent. */
  readonly forwarded: HeaderMap;
  readonly callbackForwarded: HeaderMap;
  readonly failureCallbackForwarded: HeaderMap;
  /** The depth of the work that the request creates (depth.ts). */
  readonly depth: number;
}

/** A header as received. `bytes`: a value of a real HTTP header. `text`: one from JSON or a percent-encoded query. */
interface Entry {
  readonly name: string;
  readonly value: string;
  readonly form: 'bytes' | 'text';
}

const FORWARD = 'upstash-forward-';
const CALLBACK_FORWARD = 'upstash-callback-forward-';
const FAILURE_CALLBACK_FORWARD = 'upstash-failure-callback-forward-';

/** Lists may be split over several headers of one name, as HTTP allows. */
const LISTS: ReadonlySet<string> = new Set(['upstash-label', 'upstash-redact-fields']);

export interface HttpSource {
  /** Names and values alternating, as in node:http. */
  readonly rawHeaders: readonly string[];
  readonly query: QuerySettings;
  /** Whether Authorization contains our token, which must not reach a destination. */
  readonly authorizationIsOurs: boolean;
}

/** Most headers of a request or an item, and most bytes of them that are forwarded. */
export interface HeaderLimits {
  readonly maxBytes: number;
  readonly maxCount: number;
}

export function headerLimits(config: Config): HeaderLimits {
  return { maxBytes: config.CARILLON_HEADERS_MAX_BYTES, maxCount: config.CARILLON_HEADERS_COUNT_MAX };
}

/**
 * Returns the settings of an HTTP request. A header takes precedence over a query key. Throws INVALID_REQUEST,
 * LIMIT_EXCEEDED.
 */
export function settingsOfHttp(source: HttpSource, limits: HeaderLimits): RequestSettings {
  const entries: Entry[] = [];
  for (let index = 0; index + 1 < source.rawHeaders.length; index += 2) {
    const name = source.rawHeaders[index] ?? '';
    // It identifies the caller and is no setting.
    if (name.toLowerCase() === TENANT_HEADER) continue;
    entries.push({ name, value: source.rawHeaders[index + 1] ?? '', form: 'bytes' });
  }
  if (source.query.length > 0) {
    const names = new Set(entries.map((entry) => entry.name.toLowerCase()));
    for (const [name, value] of source.query) if (!names.has(name)) entries.push({ name, value, form: 'text' });
  }
  return collect(entries, source.authorizationIsOurs, limits);
}

/**
 * Returns the settings of a batch item; `headers` is an object of names and strings (or lists of strings), `depth` that
 * of the batch. Throws as settingsOfHttp does.
 */
export function settingsOfObject(headers: unknown, limits: HeaderLimits, depth = 0): RequestSettings {
  if (headers === undefined || headers === null) return collect([], true, limits, depth);
  if (typeof headers !== 'object' || Array.isArray(headers)) {
    throw new CarillonError('INVALID_REQUEST', 'headers: expected an object of header names and strings');
  }
  const entries: Entry[] = [];
  for (const [name, raw] of Object.entries(headers)) {
    if (raw === null) continue;
    for (const value of Array.isArray(raw) ? (raw as unknown[]) : [raw]) {
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
        throw new CarillonError('INVALID_REQUEST', `headers: ${shown(name)} is no string, expected a string`);
      }
      entries.push({ name, value: String(value), form: 'text' });
      // Checked before they are collected.
      if (entries.length > limits.maxCount) throw tooMany(limits.maxCount);
    }
  }
  return collect(entries, true, limits, depth);
}

/** The headers to forward with deliveries, with callbacks, and with failure callbacks. */
type Forwarded = 'forwarded' | 'callbackForwarded' | 'failureCallbackForwarded';

class Collector {
  readonly values = new Map<string, string>();
  /** Created with the first header: most requests forward few headers or none, and a batch has a thousand items. */
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
    // A value that was received in a header can be sent in one.
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
 * Forwards a header, or sets it when it is a setting of Carillon. The official clients prefix every header of the user
 * that is not `Upstash-…` with `Upstash-Forward-`, so such a setting arrives as a header to forward; deliveries never
 * forward these names.
 */
function forwardOrSet(into: Collector, name: string, entry: Entry): void {
  if (!name.startsWith('carillon-')) into.forward('forwarded', name, entry);
  // Set on deliveries; a handler that forwards all received headers does not mean it as a setting.
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

/** Forwards Content-Type always, and everything else only in webhook mode (Upstash-Header-Forward: true). */
function forwardOthers(into: Collector, others: readonly Entry[], authorizationIsOurs: boolean): void {
  const all = into.values.get('upstash-header-forward')?.toLowerCase() === 'true';
  for (const entry of others) {
    const name = entry.name.toLowerCase();
    if (name === 'content-type') {
      // A header that is forwarded by its prefix is more explicit.
      if (!into.forwards('Content-Type')) into.forward('forwarded', name, entry);
    } else if (all && !(name === 'authorization' && authorizationIsOurs)) into.forward('forwarded', name, entry);
  }
}

function shown(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}
