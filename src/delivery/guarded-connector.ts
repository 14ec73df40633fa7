// Opens the sockets of deliveries, and only to addresses that the destination guard allows.
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, Socket, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { DestinationRefusedError, refusalOfAddress } from './destination-guard.js';
import type { ProcessTime } from '../domain/clock.js';

/** Resolves a name to all its addresses. */
export type ResolveName = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface ConnectorSettings {
  readonly allowPrivate: boolean;
  readonly connectTimeoutMs: number;
  readonly resolve: ResolveName;
  /** Called for the operator when a name was refused for these addresses; the caller of the API does not learn them. */
  readonly onRefused?: ((hostname: string, addresses: readonly string[]) => void) | undefined;
}

/** Opens a socket and returns it at once, so that an aborted attempt can close it before it is connected. */
export type OpenSocket = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket | null;

// A dead address of a host gets this long before the next one is tried. The platform's 250 ms would exclude distant
// hosts.
const NEXT_ADDRESS_MS = 1000;
const MAX_TLS_SESSIONS = 1000;

/**
 * Creates the connector for undici clients. Names are resolved here, at delivery, and the socket connects to one of the
 * checked addresses, so a name cannot change to a private address between check and use.
 */
export function createGuardedConnector(settings: ConnectorSettings): OpenSocket {
  // It returns the socket, although its types do not say so.
  const connect: (options: buildConnector.Options, callback: buildConnector.Callback) => unknown = buildConnector({
    timeout: settings.connectTimeoutMs,
    maxCachedSessions: MAX_TLS_SESSIONS,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    lookup: guardedLookup(settings),
  });

  return (options, callback) => {
    if (!settings.allowPrivate && isIP(options.hostname) !== 0) {
      const reason = refusalOfAddress(options.hostname);
      if (reason !== null) {
        // Never within the call: undici expects a connector to answer later.
        queueMicrotask(() => callback(new DestinationRefusedError(options.hostname, reason), null));
        return null;
      }
    }
    const socket = connect(options, callback);
    return socket instanceof Socket ? socket : null;
  };
}

function guardedLookup(settings: ConnectorSettings): LookupFunction {
  return (hostname, options, callback) => {
    settings.resolve(hostname).then(
      (all) => {
        const family = options.family === 'IPv4' ? 4 : options.family === 'IPv6' ? 6 : (options.family ?? 0);
        const candidates = family === 0 ? all : all.filter((found) => found.family === family);
        const allowed = settings.allowPrivate
          ? candidates
          : candidates.filter((found) => refusalOfAddress(found.address) === null);
        const first = allowed[0];
        if (first !== undefined) {
          if (options.all === true) callback(null, [...allowed]);
          else callback(null, first.address, first.family);
          return;
        }
        if (candidates.length === 0) {
          callback(Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' }), []);
          return;
        }
        settings.onRefused?.(
          hostname,
          candidates.slice(0, 5).map((found) => found.address),
        );
        callback(new DestinationRefusedError(hostname, null), []);
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), []),
    );
  };
}

export interface NameCacheSettings {
  /** How long an answer is used for new connections. */
  readonly ttlMs: number;
  readonly maxNames: number;
  readonly resolve?: ResolveName;
  readonly time: Pick<ProcessTime, 'monotonicMs'>;
}

/**
 * Resolves through the system (so hosts files count) and shares one look-up among connections that open together: the
 * system's resolver blocks one of few threads for each. Failures are not cached.
 */
export function createNameCache(settings: NameCacheSettings): ResolveName {
  const resolve = settings.resolve ?? resolveBySystem;
  const { time } = settings;
  const cache = new Map<string, { readonly untilMs: number; readonly answer: Promise<readonly LookupAddress[]> }>();
  return (hostname) => {
    const known = cache.get(hostname);
    if (known !== undefined && known.untilMs > time.monotonicMs()) return known.answer;
    const answer = resolve(hostname);
    const entry = { untilMs: time.monotonicMs() + settings.ttlMs, answer };
    cache.delete(hostname);
    if (cache.size >= settings.maxNames) {
      const oldest = cache.keys().next();
      if (oldest.done !== true) cache.delete(oldest.value);
    }
    cache.set(hostname, entry);
    answer.catch(() => {
      if (cache.get(hostname) === entry) cache.delete(hostname);
    });
    return answer;
  };
}

function resolveBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}
