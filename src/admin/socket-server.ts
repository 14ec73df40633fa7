// Serves the websocket upgrades of /admin/ws on the node's own HTTP server: checks their origin, limits their number
// (unauthenticated ones separately from administrators), and keeps them alive. All other requests for an upgrade are
// answered as if they had not requested one.

import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import { AdminSocket, type AdminSocketParts } from './admin-socket.js';
import { type AnonymousLimits, type AnonymousPlace, AnonymousPlaces } from './anonymous-places.js';
import { isAllowedOrigin, refuseUpgrade, replayWithoutUpgrade } from './upgrade.js';
import type { Cancel } from '../domain/clock.js';
import { every, pause } from '../time/waiting.js';

const PATH = '/admin/ws';
const MESSAGE_MAX_BYTES = 16 * 1_024;
const PING_EVERY_MS = 15_000;
/** How long a close waits for its answer. */
const CLOSE_MS = 2_000;
/** How long a stopping node waits for its closes to be sent. */
const GOODBYE_MS = 50;

/** Members that the types of ws do not have yet. */
const OPTIONS: ServerOptions & { closeTimeout: number; maxFragments: number; maxBufferedChunks: number } = {
  noServer: true,
  clientTracking: false,
  // Compression would cost each socket memory and each message time; a delta has one or two kilobytes.
  perMessageDeflate: false,
  maxPayload: MESSAGE_MAX_BYTES,
  maxFragments: 16,
  maxBufferedChunks: 1_024,
  closeTimeout: CLOSE_MS,
};

export interface SocketServerParts extends AdminSocketParts {
  /** Most sockets of administrators. */
  readonly socketsMax: number;
  /** Limits of unauthenticated sockets. */
  readonly anonymous: AnonymousLimits;
  /** Returns the address of a request; null when it is unknown. */
  readonly addressOf: (request: IncomingMessage) => string | null;
  /** Allowed origins in addition to the node's own, as browsers send them, or "*" for any. */
  readonly origins: readonly string[];
  /**
   * Interval at which the token of an open socket is checked again, which ends sockets whose token was revoked or has
   * expired.
   */
  readonly recheckMs: number;
  /** Returns the bearer token of an Authorization header. */
  readonly bearerToken: (authorization: string | undefined) => string | null;
}

export class AdminSocketServer {
  readonly #parts: SocketServerParts;
  readonly #sockets = new Set<AdminSocket>();
  readonly #admitted = new Set<AdminSocket>();
  readonly #anonymous: AnonymousPlaces;
  readonly #server = new WebSocketServer(OPTIONS);
  #timers: Cancel[] = [];
  #stopped = false;

  constructor(parts: SocketServerParts) {
    this.#parts = parts;
    this.#anonymous = new AnonymousPlaces(parts.anonymous);
  }

  /** The number of open sockets. */
  get size(): number {
    return this.#sockets.size;
  }

  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // No other listener exists between here and ws.
      socket.on('error', () => socket.destroy());
      const isOurs =
        (request.url ?? '').split('?', 1)[0] === PATH && request.headers.upgrade?.toLowerCase() === 'websocket';
      if (isOurs) void this.#upgrade(request, socket, head);
      else replayWithoutUpgrade(server, request, socket, head);
    });
  }

  /** Closes all sockets, in order when the client answers. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#clearTimers();
    for (const socket of this.#sockets) socket.close(1001, 'this node stops');
    if (this.#sockets.size > 0) await pause(this.#parts.time, GOODBYE_MS);
    for (const socket of this.#sockets) socket.terminate();
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { origins, bearerToken, checkToken, addressOf } = this.#parts;
    if (!isAllowedOrigin(request.headers.origin, request.headers.host, origins)) {
      refuseUpgrade(
        socket,
        403,
        'this origin may not open a socket here; CARILLON_ADMIN_ORIGINS lists the allowed ones',
      );
      return;
    }
    // The token of an upgrade is looked up in PostgreSQL: until then this socket is not authenticated either.
    const entry = this.#anonymous.take(addressOf(request), () => socket.destroy());
    socket.once('close', () => entry.release());
    const { authorization } = request.headers;
    let token: string | null = null;
    if (authorization !== undefined) {
      token = bearerToken(authorization);
      const verdict = token === null ? 'unknown' : await checkToken(token);
      const status = { admin: null, tenant: 403, unknown: 401, unavailable: 503 }[verdict];
      if (status !== null) {
        refuseUpgrade(socket, status, "an administrator's token is needed");
        return;
      }
    }
    if (socket.destroyed) return;
    this.#server.handleUpgrade(request, socket, head, (opened) => this.#open(opened, token, entry));
  }

  #open(opened: WebSocket, token: string | null, entry: AnonymousPlace): void {
    if (this.#stopped) {
      opened.on('error', () => undefined);
      opened.close(1001, 'this node stops');
      return;
    }
    const socket = new AdminSocket(opened, this.#parts, token, (known) => this.#admit(known, entry));
    entry.onEvicted = () => socket.terminateWith(1013, 'too many unauthenticated sockets on this node');
    this.#sockets.add(socket);
    opened.on('close', () => {
      this.#sockets.delete(socket);
      this.#admitted.delete(socket);
      if (this.#sockets.size === 0) this.#clearTimers();
    });
    if (this.#timers.length === 0) this.#startTimers();
  }

  #admit(socket: AdminSocket, entry: AnonymousPlace): boolean {
    if (this.#admitted.size >= this.#parts.socketsMax) return false;
    entry.release();
    this.#admitted.add(socket);
    return true;
  }

  /** Two timers for all sockets; none without sockets. */
  #startTimers(): void {
    const forAll = (work: (socket: AdminSocket) => void, everyMs: number): Cancel =>
      every(this.#parts.time, everyMs, () => this.#sockets.forEach(work));
    this.#timers = [
      forAll((socket) => socket.ping(), PING_EVERY_MS),
      forAll((socket) => void socket.recheck(), this.#parts.recheckMs),
    ];
  }

  #clearTimers(): void {
    for (const cancel of this.#timers.splice(0)) cancel();
  }
}
