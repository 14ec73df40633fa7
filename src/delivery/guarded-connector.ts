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
  /** For the operator: a name was refused for these addresses, which its caller is not told. */
  readonly onRefused?: ((hostname: string, addresses: readonly string[]) => void) | undefined;
}

/** Opens a socket and returns it at once, so that an attempt that is given up can take it down before it is connected. */
export type OpenSocket = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket | null;

// A dead address of a host is given this long before the next one is tried. The platform's 250 ms cuts off far hosts.
const NEXT_ADDRESS_MS = 1000;
const MAX_TLS_SESSIONS = 1000;

/**
 * Makes the connector for undici clients. Names are resolved here, at delivery, and the socket goes to one of the addresses
 * that were checked, so a name cannot be turned to a private address between check and use.
 */
export function createGuardedConnector(settings: ConnectorSettings): OpenSocket {
  // It returns the socket, which its types do not say.
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
        // Never within the call: undici expects the answer of a connector later.
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
  /** How long an answer serves new connections. */
  readonly ttlMs: number;
  readonly maxNames: number;
  readonly resolve?: ResolveName;
  readonly time: Pick<ProcessTime, 'monotonicMs'>;
}

/**
 * Resolves through the system (so hosts files count) and lets connections that open together share one look-up: the system's
 * resolver blocks a thread for each, and there are few. Failures are not kept.
 */
export function createNameCache(settings: NameCacheSettings): ResolveName {
  const resolve = settings.resolve ?? resolveBySystem;
  const { time } = settings;
  const kept = new Map<string, { readonly untilMs: number; readonly answer: Promise<readonly LookupAddress[]> }>();
  return (hostname) => {
    const known = kept.get(hostname);
    if (known !== undefined && known.untilMs > time.monotonicMs()) return known.answer;
    const answer = resolve(hostname);
    const entry = { untilMs: time.monotonicMs() + settings.ttlMs, answer };
    kept.delete(hostname);
    if (kept.size >= settings.maxNames) {
      const oldest = kept.keys().next();
      if (oldest.done !== true) kept.delete(oldest.value);
    }
    kept.set(hostname, entry);
    answer.catch(() => {
      if (kept.get(hostname) === entry) kept.delete(hostname);
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
