// Takes the websocket upgrades of /admin/ws on the node's own HTTP server: checks where they come from, bounds how many there are, and keeps
// them alive. All other requests that ask for an upgrade are answered as if they had not.

import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import { AdminSocket, type AdminSocketParts } from './admin-socket.js';
import { isAllowedOrigin, refuseUpgrade, replayWithoutUpgrade } from './upgrade.js';

const PATH = '/admin/ws';
const MESSAGE_MAX_BYTES = 16 * 1_024;
const PING_EVERY_MS = 15_000;
/** How long a close waits for its answer. */
const CLOSE_MS = 2_000;
/** Sockets that have not said their token yet, at most. */
const UNKNOWN_MAX = 200;

/** With what the types of ws do not know yet. */
const OPTIONS: ServerOptions & { closeTimeout: number; maxFragments: number; maxBufferedChunks: number } = {
  noServer: true,
  clientTracking: false,
  // Compressing would cost each socket memory and each message time; a delta has a kilobyte or two.
  perMessageDeflate: false,
  maxPayload: MESSAGE_MAX_BYTES,
  maxFragments: 16,
  maxBufferedChunks: 1_024,
  closeTimeout: CLOSE_MS,
};

export interface SocketServerParts extends AdminSocketParts {
  readonly socketsMax: number;
  /** Beside the node's own: origins as browsers send them, or "*" for any. */
  readonly origins: readonly string[];
  /** How often the token of an open socket is checked again: so soon ends a socket whose token was revoked or has expired. */
  readonly recheckMs: number;
  /** The bearer token of an Authorization header. */
  readonly bearerToken: (authorization: string | undefined) => string | null;
}

export class AdminSocketServer {
  readonly #parts: SocketServerParts;
  readonly #sockets = new Set<AdminSocket>();
  readonly #server = new WebSocketServer(OPTIONS);
  #timers: NodeJS.Timeout[] = [];
  #stopped = false;

  constructor(parts: SocketServerParts) {
    this.#parts = parts;
  }

  /** How many are open. */
  get size(): number {
    return this.#sockets.size;
  }

  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // Nobody else listens to it between here and ws.
      socket.on('error', () => socket.destroy());
      const isOurs =
        (request.url ?? '').split('?', 1)[0] === PATH && request.headers.upgrade?.toLowerCase() === 'websocket';
      if (isOurs) void this.#upgrade(request, socket, head);
      else replayWithoutUpgrade(server, request, socket, head);
    });
  }

  /** Closes all, in order where a client answers. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#clearTimers();
    for (const socket of this.#sockets) socket.close(1001, 'this node stops');
    if (this.#sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    for (const socket of this.#sockets) socket.terminate();
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { origins, bearerToken, checkToken } = this.#parts;
    if (!isAllowedOrigin(request.headers.origin, request.headers.host, origins)) {
      refuseUpgrade(socket, 403, 'this origin may not open a socket here; CARILLON_ADMIN_ORIGINS lists those that may');
      return;
    }
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
    this.#server.handleUpgrade(request, socket, head, (opened) => this.#open(opened, token));
  }

  #open(opened: WebSocket, token: string | null): void {
    const unknown = [...this.#sockets].filter((socket) => !socket.isAdmitted).length;
    const isFull = this.#sockets.size >= this.#parts.socketsMax || (token === null && unknown >= UNKNOWN_MAX);
    if (isFull || this.#stopped) {
      opened.on('error', () => undefined);
      opened.close(this.#stopped ? 1001 : 1013, this.#stopped ? 'this node stops' : 'too many sockets here');
      return;
    }
    const socket = new AdminSocket(opened, this.#parts, token);
    this.#sockets.add(socket);
    opened.on('close', () => {
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#clearTimers();
    });
    if (this.#timers.length === 0) this.#startTimers();
  }

  /** Two timers for all sockets; none without any. */
  #startTimers(): void {
    const forAll = (work: (socket: AdminSocket) => void, everyMs: number): NodeJS.Timeout =>
      setInterval(() => this.#sockets.forEach(work), everyMs);
    this.#timers = [
      forAll((socket) => socket.ping(), PING_EVERY_MS),
      forAll((socket) => void socket.recheck(), this.#parts.recheckMs),
    ];
  }

  #clearTimers(): void {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
  }
}
