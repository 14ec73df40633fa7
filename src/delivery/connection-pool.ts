// Pools the connections to destinations: one undici client for each, so that one attempt can be aborted without
// affecting another.
//
// undici's own pools search for a free client from the start of the list, keep a connecting client until its connect
// timeout even when nobody waits for it, and do not report whether a socket was used before. Here a connection is
// checked out for one exchange, checked in after a complete answer, and discarded (with its socket, connecting or not)
// after anything else.
import { Client, type Dispatcher } from 'undici';
import type { Socket } from 'node:net';
import { AnswerHead } from './answer-head.js';
import type { OpenSocket } from './guarded-connector.js';

export interface ConnectionPoolSettings {
  /** Most connections to one origin; exchanges beyond it wait in order. */
  readonly connectionsPerOrigin: number;
  /** Most idle connections to all origins together; beyond it the longest idle one is closed. */
  readonly maxIdleConnections: number;
  /** How long an idle connection is kept. A receiver's shorter Keep-Alive hint wins. */
  readonly keepAliveMs: number;
  /** Most bytes of the names and values of an answer's headers. */
  readonly maxResponseHeaderBytes: number;
}

interface Origin {
  readonly name: string;
  readonly idle: Connection[];
  /** In order of arrival; a Set, so that canceling does not need a search. */
  readonly waiting: Set<Taker>;
  connections: number;
}

/** An exchange that waits for a connection or has one. */
export interface Taker {
  take(connection: Connection): void;
  /** Called when the pool closes. */
  abandon(code: 'ABORTED', message: string): void;
}

/** The platform closes sockets on its own clock; a margin prevents writes to a socket that is about to close. */
const KEEP_ALIVE_MARGIN_MS = 1000;

/** One client of undici, with at most one socket and one exchange at a time. */
export class Connection {
  /** Whether the present socket was used for an exchange before. */
  used = false;
  busy = true;
  discarded = false;
  /** The exchange in progress. */
  exchange: Taker | null = null;
  private readonly client: Client;
  private connecting: Socket | null = null;
  private socket: Socket | null = null;
  private answer: AnswerHead | null = null;

  constructor(
    readonly origin: Origin,
    private readonly settings: ConnectionPoolSettings,
    openSocket: OpenSocket,
    onDisconnect: (connection: Connection) => void,
  ) {
    this.client = new Client(origin.name, {
      pipelining: 1,
      // Each exchange has its own single timer.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: settings.keepAliveMs,
      keepAliveMaxTimeout: settings.keepAliveMs,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      maxHeaderSize: settings.maxResponseHeaderBytes,
      connect: (options, callback) => {
        this.connecting = openSocket(options, (...result) => {
          // Registered before undici listens: this must be the first reader of each chunk.
          if (result[0] === null) this.readHeadsOf(result[1]);
          callback(...result);
        });
      },
    });
    this.client.on('connect', () => {
      this.connecting = null;
      this.used = false;
    });
    this.client.on('disconnect', () => onDisconnect(this));
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.client.dispatch(options, handler);
  }

  /** Called while the request is written: the bytes from now on are its answer. */
  awaitAnswer(): void {
    this.answer = new AnswerHead(this.settings.maxResponseHeaderBytes);
  }

  /** Whether any byte arrived since `awaitAnswer`. */
  get isAnswered(): boolean {
    return this.answer?.isStarted === true;
  }

  /**
   * Whether both ends agree that the exchange is over: its answer ended unambiguously and its request was read
   * completely.
   */
  get isReusable(): boolean {
    return this.answer?.isIrregular !== true && (this.socket?.writableLength ?? 0) === 0;
  }

  private readHeadsOf(socket: Socket): void {
    this.socket = socket;
    socket.on('readable', () => {
      const { answer } = this;
      if (answer === null || answer.isComplete) return;
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      const ready = answer.add(chunk);
      if (ready !== null) socket.unshift(ready);
    });
  }

  /** Closes the socket at once in any state. The handler of an exchange in progress receives an error. */
  destroy(): Promise<void> {
    const error = new Error('connection discarded');
    this.connecting?.destroy(error);
    this.connecting = null;
    return this.client.destroy(error);
  }
}

export class ConnectionPool {
  private readonly origins = new Map<string, Origin>();
  private readonly connections = new Set<Connection>();
  /** Of all origins, the longest idle first. */
  private readonly idle = new Set<Connection>();
  private readonly closing: Promise<void>[] = [];
  private closed = false;

  constructor(
    private readonly settings: ConnectionPoolSettings,
    private readonly openSocket: OpenSocket,
  ) {}

  /** Connections, idle or not, and origins with at least one. */
  get counts(): { readonly connections: number; readonly idle: number; readonly origins: number } {
    return { connections: this.connections.size, idle: this.idle.size, origins: this.origins.size };
  }

  /**
   * Passes a connection to `taker`: within the call when one is idle or may be opened, otherwise in order of arrival.
   * The connection used last is reused first.
   */
  checkOut(originName: string, taker: Taker): void {
    const origin = this.originOf(originName);
    const connection = origin.idle.pop();
    if (connection !== undefined) {
      this.idle.delete(connection);
      connection.busy = true;
      taker.take(connection);
    } else if (origin.connections < this.settings.connectionsPerOrigin) {
      taker.take(this.open(origin));
    } else {
      origin.waiting.add(taker);
    }
  }

  /** Passes an unused connection to `taker` in place of `old`, which is discarded. */
  replace(old: Connection, taker: Taker): void {
    const { origin } = old;
    // Opened before the old one is discarded, so that it replaces that one and the first waiting taker does not.
    const fresh = this.open(origin);
    this.remove(old);
    taker.take(fresh);
  }

  /** Stops waiting. */
  cancel(originName: string, taker: Taker): void {
    this.origins.get(originName)?.waiting.delete(taker);
  }

  /** Returns a connection after a complete answer. */
  checkIn(connection: Connection): void {
    if (connection.discarded) return;
    connection.used = true;
    connection.exchange = null;
    const { origin } = connection;
    const next = firstOf(origin.waiting);
    if (next !== undefined) {
      origin.waiting.delete(next);
      next.take(connection);
      return;
    }
    connection.busy = false;
    origin.idle.push(connection);
    this.idle.add(connection);
    if (this.idle.size > this.settings.maxIdleConnections) {
      const longest = firstOf(this.idle);
      if (longest !== undefined) this.discard(longest);
    }
  }

  /** Closes a connection that cannot be reused; the first waiting taker gets a new one. */
  discard(connection: Connection): void {
    if (!this.remove(connection) || this.closed) return;
    const { origin } = connection;
    const next = firstOf(origin.waiting);
    if (next === undefined) return;
    origin.waiting.delete(next);
    const fresh = this.open(origin);
    // Later, because this may be called from within `take`, and each of many waiting takers may fail at once.
    queueMicrotask(() => next.take(fresh));
  }

  /** Closes all connections at once and aborts the exchanges that have one or wait for one. */
  async close(): Promise<void> {
    this.closed = true;
    for (const origin of [...this.origins.values()]) {
      for (const taker of [...origin.waiting]) taker.abandon('ABORTED', 'the HTTP client was closed');
    }
    for (const connection of [...this.connections]) {
      connection.exchange?.abandon('ABORTED', 'the HTTP client was closed');
      this.remove(connection);
    }
    await Promise.all(this.closing);
  }

  private remove(connection: Connection): boolean {
    if (connection.discarded) return false;
    connection.discarded = true;
    connection.exchange = null;
    const { origin } = connection;
    this.connections.delete(connection);
    if (this.idle.delete(connection)) origin.idle.splice(origin.idle.indexOf(connection), 1);
    origin.connections--;
    if (origin.connections === 0 && origin.waiting.size === 0) this.origins.delete(origin.name);
    const destroyed = connection.destroy();
    if (this.closed) this.closing.push(destroyed);
    return true;
  }

  private open(origin: Origin): Connection {
    const connection = new Connection(origin, this.settings, this.openSocket, (lost) => {
      // A busy one reconnects by itself or fails its exchange.
      if (!lost.busy) this.discard(lost);
    });
    origin.connections++;
    this.origins.set(origin.name, origin);
    this.connections.add(connection);
    return connection;
  }

  private originOf(name: string): Origin {
    const known = this.origins.get(name);
    if (known !== undefined) return known;
    const origin: Origin = { name, idle: [], waiting: new Set(), connections: 0 };
    this.origins.set(name, origin);
    return origin;
  }
}

function firstOf<T>(set: ReadonlySet<T>): T | undefined {
  const next = set.values().next();
  return next.done === true ? undefined : next.value;
}
