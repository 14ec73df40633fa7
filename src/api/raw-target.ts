// Takes a request target apart as it was sent: a destination in the path must not be normalised, decoded or merged by a router.

/** Settings given in the query instead of headers, in order: lower-case name and decoded value. */
export type QuerySettings = readonly (readonly [name: string, value: string])[];

interface DestinationTarget {
  /** As given, without our own query keys; decoded once when it came percent-encoded as a whole. May be empty. */
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

/** What a POST below /v2/schedules can be besides the creation of a schedule: no destination looks like this. */
const SCHEDULE_ACTION = /^(?:batch|[A-Za-z0-9_.-]+\/(?:pause|resume|trigger))\/?$/;
/** A destination whose `://` is percent-encoded in part or whole was encoded as a whole. */
const ENCODED_URL = /^https?(?::|%3a)(?:\/|%2f)(?:\/|%2f)/i;
const PLAIN_URL = /^https?:\/\//i;
/** Query keys that are for us and not for the destination. Only these spellings: a destination may have others. */
const SETTING_KEY = /^(?:upstash|carillon)-[a-z0-9-]+$/;
const TOKEN_KEY = 'qstash_token';

/**
 * Classifies a request by method and raw target. Never throws: what makes no sense becomes a destination that is refused
 * later with a text, or a path that no route has.
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
  // One client writes this segment with a capital letter.
  const routed = path.replace(/^\/v2\/schedules(?=\/|$)/i, '/v2/schedules');
  return { kind: 'other', url: rest === null ? routed : `${routed}?${rest}`, token };
}

/** HTTP allows `GET http://host/path`; what counts is the path. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target);
  if (absolute === null) return `/${target}`;
  const rest = target.slice(absolute[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** What follows `prefix/`, '' when nothing does, null when the target is elsewhere. */
function after(target: string, prefix: string): string | null {
  if (target.slice(0, prefix.length).toLowerCase() !== prefix) return null;
  const rest = target.slice(prefix.length);
  if (rest === '' || rest.startsWith('?')) return rest;
  return rest.startsWith('/') ? rest.slice(1) : null;
}

function enqueueTarget(text: string): RawTarget {
  // The client does not encode queue names, so one may contain slashes: the destination begins at its scheme.
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

/** Path and query; the query is null when there is no question mark. */
function splitQuery(target: string): [path: string, query: string | null] {
  const mark = target.indexOf('?');
  return mark === -1 ? [target, null] : [target.slice(0, mark), target.slice(mark + 1)];
}

interface OwnKeys {
  /** The query without our keys, byte for byte; null when nothing is left. */
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

/** Percent-decoded once; as it is when it cannot be decoded, so that the error that follows shows it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
