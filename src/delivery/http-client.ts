// Sends one attempt over HTTP/1.1 and returns its result; a network error is a result, never an exception.
//
// Time: one timer covers waiting for a connection, connecting, sending, and the headers and body of the answer.
//
// Answers: at most `keepBytes` of the body are kept. A longer body settles the attempt at once; the rest is read and
// dropped so that the connection can be reused, but only up to `discardBytes` and one second; then the connection is
// closed. Redirects are answers like any other. A status without content (204, 205, 304) is a complete answer once its
// headers arrived, whatever length they state. `answer-head.ts` corrects forms of answers that HTTP allows and undici
// does not.
//
// Stale connections: a receiver may close an idle connection at the moment we write to it. Idle connections are kept
// only for a short time, shorter when the receiver requests it, and undici notices a close that has arrived before it
// writes. What remains is a close on its way. When a connection that was used before is lost within `staleResendMs` and
// without one byte of an answer, the attempt is sent once more, on a new connection; otherwise a message without
// retries would fail because of connection management. If the receiver did see the first copy, the second carries the
// same message id.
import { describeFailure, deliveryError, isSocketLoss, ReceivedResponse } from './delivery-result.js';
import type { DeliveryError, DeliveryResult } from './delivery-result.js';
import { ConnectionPool, type Connection, type ConnectionPoolSettings } from './connection-pool.js';
import { createGuardedConnector, createNameCache, type ResolveName } from './guarded-connector.js';
import { BodyKeeper } from './body-keeper.js';
import { parseTarget, type Target } from './target.js';
import type { Dispatcher } from 'undici';
import type { Cancel, ProcessTime } from '../domain/clock.js';

export interface DeliveryRequest {
  readonly url: string;
  readonly method: string;
  /** Complete except for Host, Connection and Content-Length. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer;
  /** For the whole exchange. */
  readonly timeoutMs: number;
  /** How much of the answer's body to keep; defaults to the client's setting. */
  readonly keepBytes?: number;
}

export interface HttpClientSettings extends ConnectionPoolSettings {
  readonly time: ProcessTime;
  readonly allowPrivate: boolean;
  readonly connectTimeoutMs: number;
  readonly keepBytes: number;
  readonly discardBytes: number;
  /** 0 disables resending. */
  readonly staleResendMs: number;
  /** Resolves names; defaults to the system's resolver with a short cache. */
  readonly resolve?: ResolveName;
  /** Called for the operator when a name was refused for these addresses. */
  readonly onRefused?: (hostname: string, addresses: readonly string[]) => void;
}

const HTTP_CLIENT_DEFAULTS = {
  connectionsPerOrigin: 100,
  maxIdleConnections: 1000,
  keepAliveMs: 4000,
  maxResponseHeaderBytes: 256 * 1024,
  connectTimeoutMs: 10_000,
  keepBytes: 4096,
  discardBytes: 64 * 1024,
  staleResendMs: 1000,
} as const;

export interface HttpClient {
  /** Sends one attempt. Never rejects and never throws. An aborted signal results in an error with code ABORTED. */
  deliver(request: DeliveryRequest, signal?: AbortSignal): Promise<DeliveryResult>;
  /** Aborts all attempts in flight (code ABORTED) and closes all sockets. May be called again. */
  close(): Promise<void>;
  readonly counts: { readonly connections: number; readonly idle: number; readonly origins: number };
}

const DRAIN_MS = 1000;
/** RFC 9110 15.3.5, 15.3.6 and 15.4.5. */
const WITHOUT_CONTENT: ReadonlySet<number> = new Set([204, 205, 304]);
const MAX_TIMER_MS = 2_147_483_647;
const NAME_CACHE = { ttlMs: 5000, maxNames: 2000 } as const;

export function createHttpClient(
  overrides: Partial<HttpClientSettings> & Pick<HttpClientSettings, 'allowPrivate' | 'time'>,
): HttpClient {
  const settings: HttpClientSettings = { ...HTTP_CLIENT_DEFAULTS, ...overrides };
  const openSocket = createGuardedConnector({
    allowPrivate: settings.allowPrivate,
    connectTimeoutMs: settings.connectTimeoutMs,
    resolve: settings.resolve ?? createNameCache({ ...NAME_CACHE, time: settings.time }),
    onRefused: settings.onRefused,
  });
  const pool = new ConnectionPool(settings, openSocket);
  let closing: Promise<void> | null = null;

  return {
    deliver(request, signal) {
      if (closing !== null) return Promise.resolve(deliveryError('ABORTED', 'the HTTP client is closed', 0));
      if (signal?.aborted === true) return Promise.resolve(deliveryError('ABORTED', 'aborted before it was sent', 0));
      const target = parseTarget(request.url);
      if (target === null) {
        return Promise.resolve(
          deliveryError('INVALID_REQUEST', `not an absolute http or https URL: ${request.url}`, 0),
        );
      }
      return new Promise((resolve) => new Exchange(pool, settings, request, target, resolve).start(signal));
    },
    close() {
      closing ??= pool.close();
      return closing;
    },
    get counts() {
      return pool.counts;
    },
  };
}

type Phase = 'waiting for a connection' | 'connecting' | 'waiting for the answer' | 'reading the answer';

/**
 * One attempt. Settled: the result is known. Finished: the connection is returned or closed; a long answer settles
 * earlier.
 */
class Exchange implements Dispatcher.DispatchHandler {
  private readonly startedAtMs: number;
  private sentAtMs = 0;
  private phase: Phase = 'waiting for a connection';
  private connection: Connection | null = null;
  private cancelTimer: Cancel;
  private removeAbort: (() => void) | null = null;
  private settled = false;
  private finished = false;
  private resent = false;
  private status = 0;
  private rawHeaders: readonly Buffer[] = [];
  private readonly keeper: BodyKeeper;
  private discardedBytes = 0;

  constructor(
    private readonly pool: ConnectionPool,
    private readonly settings: HttpClientSettings,
    private readonly request: DeliveryRequest,
    private readonly target: Target,
    private readonly resolve: (result: DeliveryResult) => void,
  ) {
    this.keeper = new BodyKeeper(request.keepBytes ?? settings.keepBytes);
    this.startedAtMs = settings.time.monotonicMs();
    this.cancelTimer = this.expireIn(Math.min(Math.max(1, request.timeoutMs), MAX_TIMER_MS));
  }

  start(signal: AbortSignal | undefined): void {
    if (signal !== undefined) {
      const abort = (): void => this.abandon('ABORTED', `aborted while ${this.phase}`);
      signal.addEventListener('abort', abort, { once: true });
      this.removeAbort = () => signal.removeEventListener('abort', abort);
    }
    this.pool.checkOut(this.target.origin, this);
  }

  /** Receives the connection, which belongs to this exchange until it is finished. */
  take(connection: Connection): void {
    if (this.finished) {
      this.pool.discard(connection);
      return;
    }
    this.connection = connection;
    this.phase = 'connecting';
    connection.exchange = this;
    const { method, headers, body } = this.request;
    connection.dispatch(
      { path: this.target.path, method, headers: headers as Record<string, string | string[]>, body },
      this,
    );
  }

  private expireIn(delayMs: number): Cancel {
    return this.settings.time.after(delayMs, () => this.expire());
  }

  /**
   * Called when time is up. A long answer that is being dropped has its result already; only its connection is closed.
   */
  private expire(): void {
    this.abandon('TIMEOUT', `no complete answer within ${this.request.timeoutMs} ms (${this.phase})`);
  }

  /** Ends the attempt in any phase. */
  abandon(code: string, message: string): void {
    this.settle(deliveryError(code, message, this.elapsedMs()));
    this.finish(false);
  }

  onConnect(): void {
    this.sentAtMs = this.settings.time.monotonicMs();
    this.connection?.awaitAnswer();
    this.phase = 'waiting for the answer';
  }

  onHeaders(status: number, rawHeaders: Buffer[]): boolean {
    // 1xx announce an answer but are none.
    if (status < 200 || this.finished) return true;
    this.phase = 'reading the answer';
    this.status = status;
    this.rawHeaders = rawHeaders;
    if (WITHOUT_CONTENT.has(status)) this.settleBeforeEnd();
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.finished) return true;
    if (!this.settled) {
      const rest = this.keeper.add(chunk);
      if (rest === 0) return true;
      this.settleBeforeEnd(true);
      this.discardedBytes = rest;
    } else {
      this.discardedBytes += chunk.length;
    }
    if (this.discardedBytes > this.settings.discardBytes) this.finish(false);
    return true;
  }

  onComplete(): void {
    if (this.finished) return;
    if (!this.settled) this.settleResponse(false);
    this.finish(true);
  }

  onError(error: unknown): void {
    if (this.finished) return;
    const connection = this.connection;
    if (!this.settled && connection !== null && this.wasStale(connection, error)) {
      this.resent = true;
      this.pool.replace(connection, this);
      return;
    }
    if (!this.settled) this.settle(describeFailure(error, this.elapsedMs(), this.target.host));
    this.finish(false);
  }

  private wasStale(connection: Connection, error: unknown): boolean {
    if (this.resent || !connection.used || !isSocketLoss(error)) return false;
    // Lost before it was sent.
    if (this.phase === 'connecting') return true;
    if (this.phase !== 'waiting for the answer' || connection.isAnswered) return false;
    return this.settings.time.monotonicMs() - this.sentAtMs < this.settings.staleResendMs;
  }

  /**
   * Settles the attempt. The rest of the answer decides only whether the connection can be reused, and gets little
   * time.
   */
  private settleBeforeEnd(truncated = false): void {
    this.settleResponse(truncated);
    this.cancelTimer();
    this.cancelTimer = this.expireIn(DRAIN_MS);
  }

  private settleResponse(truncated: boolean): void {
    this.settle(new ReceivedResponse(this.status, this.keeper.body(), truncated, this.elapsedMs(), this.rawHeaders));
  }

  private settle(result: ReceivedResponse | DeliveryError): void {
    if (this.settled) return;
    this.settled = true;
    this.removeAbort?.();
    this.resolve(result);
  }

  private finish(reusable: boolean): void {
    if (this.finished) return;
    this.finished = true;
    this.cancelTimer();
    const connection = this.connection;
    if (connection === null) this.pool.cancel(this.target.origin, this);
    else if (reusable && connection.isReusable) this.pool.checkIn(connection);
    else this.pool.discard(connection);
  }

  private elapsedMs(): number {
    return this.settings.time.monotonicMs() - this.startedAtMs;
  }
}
