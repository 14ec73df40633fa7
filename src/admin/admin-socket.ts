// One socket of a console: authenticated by a token, with limits on what it may send and on what may wait for it. A
// mistake of a client ends only its own socket.

import type { RawData, WebSocket } from 'ws';
import type { ClusterWatch, Viewer } from './cluster-watch.js';
import { CLOSE, type ClientMessage } from './protocol.js';
import type { Cancel, ProcessTime } from '../domain/clock.js';

const TOKEN_MAX_LENGTH = 4_096;
/** Largest message of a client that is not authenticated yet. */
const HELLO_MAX_BYTES = 2 * TOKEN_MAX_LENGTH;
/** Most messages (and pings) of a client within the period. */
const MESSAGES_MAX = 20;
const MESSAGES_WITHIN_MS = 10_000;
/** Close reasons have at most 123 bytes; ws throws at a longer one. */
const REASON_MAX_BYTES = 123;

/** The result of checking a token. `unavailable`: PostgreSQL is unavailable, so the token cannot be checked. */
export type TokenVerdict = 'admin' | 'tenant' | 'unknown' | 'unavailable';

export interface AdminSocketParts {
  readonly watch: Pick<ClusterWatch, 'join' | 'leave' | 'resync'>;
  readonly checkToken: (token: string) => Promise<TokenVerdict>;
  /** Most bytes that may wait for a client. */
  readonly queueBytes: number;
  readonly helloMs: number;
  readonly time: ProcessTime;
}

export class AdminSocket implements Viewer {
  readonly #socket: WebSocket;
  readonly #parts: AdminSocketParts;
  readonly #mayEnter: (socket: AdminSocket) => boolean;
  #state: 'new' | 'checking' | 'admitted' | 'closing' = 'new';
  #token: string | null = null;
  #answered = true;
  #messages = 0;
  #messagesSinceMs: number;
  readonly #cancelHello: Cancel;

  /**
   * `token` is the checked token of the upgrade. `admit` is called once, when an administrator is authenticated; false
   * means that there are too many sockets.
   */
  constructor(
    socket: WebSocket,
    parts: AdminSocketParts,
    token: string | null,
    admit: (socket: AdminSocket) => boolean,
  ) {
    this.#socket = socket;
    this.#parts = parts;
    this.#mayEnter = admit;
    this.#messagesSinceMs = parts.time.monotonicMs();
    this.#cancelHello = parts.time.after(parts.helloMs, () => {
      if (this.#state === 'new') this.close(CLOSE.helloTimeout, `no hello within ${parts.helloMs} ms`);
    });
    socket.on('message', (data, isBinary) => this.#received(data, isBinary));
    socket.on('ping', () => this.#counted());
    socket.on('pong', () => (this.#answered = true));
    socket.on('close', () => this.#ended());
    // Errors of a broken or misbehaving connection are visible in its close; ws has closed it with the right code by
    // then.
    socket.on('error', () => undefined);
    if (token !== null) this.#admit(token);
  }

  get #isClosing(): boolean {
    return this.#state === 'closing';
  }

  /** Sends a text; closes the socket instead when too much waits already. */
  send(text: Buffer): void {
    if (this.#state !== 'admitted') return;
    const waiting = this.#socket.bufferedAmount;
    if (waiting > 0 && waiting + text.length > this.#parts.queueBytes) {
      this.close(CLOSE.tooSlow, `too slow: ${waiting} bytes wait to be read`);
      return;
    }
    this.#socket.send(text, { binary: false });
  }

  /** Pings; ends a socket that did not answer the previous ping. */
  ping(): void {
    if (this.#state === 'closing') return;
    if (!this.#answered) {
      this.#socket.terminate();
      return;
    }
    this.#answered = false;
    this.#socket.ping();
  }

  /** Checks whether the token is still valid. */
  async recheck(): Promise<void> {
    if (this.#state !== 'admitted' || this.#token === null) return;
    const verdict = await this.#parts.checkToken(this.#token);
    if (verdict === 'unknown' || verdict === 'tenant')
      this.close(CLOSE.unauthorized, 'the token was revoked or has expired');
  }

  /** Closes the socket in order; ws terminates a client that does not answer a little later. */
  close(code: number, reason: string): void {
    if (this.#state === 'closing') return;
    this.#ended();
    this.#socket.close(code, truncated(reason, REASON_MAX_BYTES));
  }

  /** Terminates the socket; the reason reaches only a client that reads at once. */
  terminateWith(code: number, reason: string): void {
    this.close(code, reason);
    this.#socket.terminate();
  }

  terminate(): void {
    this.#ended();
    this.#socket.terminate();
  }

  #ended(): void {
    this.#state = 'closing';
    this.#cancelHello();
    this.#parts.watch.leave(this);
  }

  #received(data: RawData, isBinary: boolean): void {
    // Messages that arrived together with the one that ended the socket are ignored.
    if (this.#state === 'closing' || !this.#counted()) return;
    if (isBinary) {
      this.close(1003, 'a binary message: expected JSON text');
      return;
    }
    if (this.#state !== 'admitted' && (data as Buffer).length > HELLO_MAX_BYTES) {
      this.close(CLOSE.badMessage, `a hello of more than ${HELLO_MAX_BYTES} bytes`);
      return;
    }
    const message = readMessage(data);
    if (typeof message === 'string') this.close(CLOSE.badMessage, message);
    else if (message.type === 'hello') void this.#hello(message.token);
    else if (this.#state === 'admitted') this.#parts.watch.resync(this);
    else this.close(CLOSE.badMessage, 'a resync before the hello');
  }

  /** Counts a message; returns whether the client may send it. */
  #counted(): boolean {
    if (this.#state === 'closing') return false;
    const nowMs = this.#parts.time.monotonicMs();
    if (nowMs - this.#messagesSinceMs > MESSAGES_WITHIN_MS) {
      this.#messagesSinceMs = nowMs;
      this.#messages = 0;
    }
    this.#messages += 1;
    if (this.#messages <= MESSAGES_MAX) return true;
    this.close(CLOSE.flood, `more than ${MESSAGES_MAX} messages in ${MESSAGES_WITHIN_MS / 1_000} s`);
    return false;
  }

  async #hello(token: string): Promise<void> {
    if (this.#state !== 'new') {
      this.close(CLOSE.badMessage, 'a second hello');
      return;
    }
    this.#state = 'checking';
    const verdict = await this.#parts.checkToken(token);
    // The socket may be closed meanwhile.
    if (this.#isClosing) return;
    switch (verdict) {
      case 'admin':
        this.#admit(token);
        return;
      case 'tenant':
        this.close(CLOSE.forbidden, "a tenant's token: expected an administrator's");
        return;
      case 'unknown':
        this.close(CLOSE.unauthorized, 'invalid token: it is not known, was revoked or has expired');
        return;
      case 'unavailable':
        this.close(CLOSE.unavailable, 'PostgreSQL is unavailable: the token cannot be checked');
    }
  }

  #admit(token: string): void {
    this.#cancelHello();
    if (!this.#mayEnter(this)) {
      this.close(1013, 'too many consoles are open on this node (CARILLON_ADMIN_SOCKETS_MAX)');
      return;
    }
    this.#state = 'admitted';
    this.#token = token;
    this.#parts.watch.join(this).catch(() => this.close(1011, 'the snapshot could not be built'));
  }
}

/** Returns as much of a text as fits in this many bytes. */
function truncated(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

/** Returns a message, or the error in it. */
function readMessage(data: RawData): ClientMessage | string {
  let value: unknown;
  try {
    value = JSON.parse((data as Buffer).toString('utf8'));
  } catch {
    return 'not JSON';
  }
  if (typeof value !== 'object' || value === null || !('type' in value)) return 'expected an object with a type';
  const { type } = value;
  if (type === 'resync') return { type };
  if (typeof type !== 'string') return 'a type that is no text: expected hello or resync';
  if (type !== 'hello') return `unknown type ${JSON.stringify(type.slice(0, 40))}: expected hello or resync`;
  const token = 'token' in value ? value.token : undefined;
  if (typeof token !== 'string' || token === '') return 'hello without a token';
  if (token.length > TOKEN_MAX_LENGTH) return `hello with a token longer than ${TOKEN_MAX_LENGTH}`;
  return { type, token };
}
