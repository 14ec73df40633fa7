// Parses a request target as it was sent: a router must not normalize, decode or merge a destination in the path.

/** Settings in the query instead of headers, in order: lower-case name and decoded value. */
export type QuerySettings = readonly (readonly [name: string, value: string])[];

interface DestinationTarget {
  /** Verbatim, without our own query keys; decoded once when it was percent-encoded as a whole. May be empty. */
  readonly destination: string;
  readonly settings: QuerySettings;
  /** From `?qstash_token=`. */
  readonly token: string | null;
}

export type RawTarget =
  | ({ readonly kind: 'publish' } & DestinationTarget)
  | ({ readonly kind: 'schedule' } & DestinationTarget)
  | ({ readonly kind: 'enqueue'; readonly queue: string } & DestinationTarget)
  | {
      readonly kind: 'other';
      /** Path and query for the router, without the token. */
      readonly url: string;
      readonly token: string | null;
    };

/** Other POST routes below /v2/schedules: no destination looks like these. */
const SCHEDULE_ACTION = /^(?:batch|[A-Za-z0-9_.-]+\/(?:pause|resume|trigger))\/?$/;
/** A destination whose `://` is percent-encoded in part or whole was encoded as a whole. */
const ENCODED_URL = /^https?(?::|%3a)(?:\/|%2f)(?:\/|%2f)/i;
const PLAIN_URL = /^https?:\/\//i;
/** Query keys for this API, not for the destination. Only these spellings: a destination may have others. */
const SETTING_KEY = /^(?:upstash|carillon)-[a-z0-9-]+$/;
const TOKEN_KEY = 'qstash_token';

/**
 * Classifies a request by method and raw target. Never throws: a meaningless target becomes a destination that is
 * refused later with a text, or a path without a route.
 */
export function readTarget(method: string, rawTarget: string): RawTarget {
  const target = originForm(rawTarget);
  if (method === 'POST') {
    const publish = after(target, '/v2/publish');
    if (publish !== null) return { kind: 'publish', ...destinationTarget(publish) };
    const enqueue = after(target, '/v2/enqueue');
    if (enqueue !== null) return enqueueTarget(enqueue);
    const schedule = after(target, '/v2/schedules');
    if (schedule !== null && !SCHEDULE_ACTION.test(splitQuery(schedule)[0])) {
      return { kind: 'schedule', ...destinationTarget(schedule) };
    }
  }
  const [path, query] = splitQuery(target);
  const { rest, token } = ownKeys(query, false);
  // One client sends this segment with a capital letter.
  const routed = path.replace(/^\/v2\/schedules(?=\/|$)/i, '/v2/schedules');
  return { kind: 'other', url: rest === null ? routed : `${routed}?${rest}`, token };
}

/** Returns the path: HTTP allows `GET http://host/path`. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target);
  if (absolute === null) return `/${target}`;
  const rest = target.slice(absolute[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Returns the text after `prefix/`, '' when there is none, null when the target has another prefix. */
function after(target: string, prefix: string): string | null {
  if (target.slice(0, prefix.length).toLowerCase() !== prefix) return null;
  const rest = target.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return rest;
  return rest.startsWith('/') ? rest.slice(1) : null;
}

function enqueueTarget(text: string): RawTarget {
  // The client does not encode queue names, so one may contain slashes: the destination starts at its scheme.
  const url = /\/https?(?::|%3a)/i.exec(text)?.index ?? text.indexOf('/');
  const queue = url === -1 ? text : text.slice(0, url);
  return { kind: 'enqueue', queue: decoded(queue), ...destinationTarget(url === -1 ? '' : text.slice(url + 1)) };
}

function destinationTarget(text: string): DestinationTarget {
  const [path, query] = splitQuery(text);
  const { rest, settings, token } = ownKeys(query, true);
  const isEncoded = !PLAIN_URL.test(path) && ENCODED_URL.test(path);
  const destination = isEncoded ? decoded(path) : path;
  const joint = destination.includes('?') ? '&' : '?';
  return { destination: rest === null ? destination : destination + joint + rest, settings, token };
}

/** Returns path and query; the query is null when there is no question mark. */
function splitQuery(target: string): [path: string, query: string | null] {
  const queryAt = target.indexOf('?');
  return queryAt === -1 ? [target, null] : [target.slice(0, queryAt), target.slice(queryAt + 1)];
}

interface OwnKeys {
  /** Returns the query without our keys, byte for byte; null when nothing is left. */
  readonly rest: string | null;
  readonly settings: QuerySettings;
  readonly token: string | null;
}

function ownKeys(query: string | null, withSettings: boolean): OwnKeys {
  if (query === null || !/(?:^|&)(?:qstash_token|upstash-|carillon-)/.test(query)) {
    return { rest: query, settings: [], token: null };
  }
  const rest: string[] = [];
  const settings: [string, string][] = [];
  let token: string | null = null;
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    const key = equals === -1 ? pair : pair.slice(0, equals);
    const value = equals === -1 ? '' : decoded(pair.slice(equals + 1).replaceAll('+', ' '));
    if (key === TOKEN_KEY) token = value;
    else if (withSettings && SETTING_KEY.test(key)) settings.push([key, value]);
    else rest.push(pair);
  }
  return { rest: rest.length === 0 ? null : rest.join('&'), settings, token };
}

/** Percent-decodes a text once; returns it unchanged when that fails, so that the following error shows it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
