/** A client of the admin websocket: keeps the picture as the page does, and notices when a delta is missing. */
import { WebSocket } from 'ws';
import { applyDelta, type Picture, type ServerMessage } from '../../src/admin/protocol.js';

export interface AdminClientOptions {
  /** Sent as the first message; null: none is sent. */
  readonly token?: string | null;
  /** Of the upgrade. */
  readonly headers?: Record<string, string>;
}

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

interface Waiting {
  readonly isTrue: (picture: Picture) => boolean;
  readonly done: (picture: Picture) => void;
}

export class AdminClient {
  readonly socket: WebSocket;
  /** Resolves when the socket was closed, or refused (then with the HTTP status as the code). */
  readonly closed: Promise<Closed>;
  readonly messages: ServerMessage[] = [];
  picture: Picture | null = null;
  /** Deltas that were not the next one. */
  gaps = 0;
  #seq = 0;
  readonly #waiting = new Set<Waiting>();

  constructor(url: string, { token = null, headers = {} }: AdminClientOptions = {}) {
    this.socket = new WebSocket(`${url.replace(/^http/, 'ws')}/admin/ws`, { headers });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
      this.socket.on('unexpected-response', (request, response) => {
        resolve({ code: response.statusCode ?? 0, reason: '' });
        request.destroy();
      });
    });
    this.socket.on('error', () => undefined);
    if (token !== null) this.socket.on('open', () => this.say({ type: 'hello', token }));
    this.socket.on('message', (data: Buffer) => this.#heard(JSON.parse(data.toString()) as ServerMessage));
  }

  say(message: unknown): void {
    this.socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  }

  async opened(): Promise<void> {
    if (this.socket.readyState === WebSocket.OPEN) return;
    await new Promise((resolve) => this.socket.once('open', resolve));
  }

  /** Resolves with the first picture of which this is true. */
  async until(what: string, isTrue: (picture: Picture) => boolean, timeoutMs = 10_000): Promise<Picture> {
    if (this.picture !== null && isTrue(this.picture)) return this.picture;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`not within ${timeoutMs} ms: ${what}; the picture is ${JSON.stringify(this.picture)}`));
      }, timeoutMs);
      const waiting: Waiting = {
        isTrue,
        done: (picture) => {
          clearTimeout(timer);
          this.#waiting.delete(waiting);
          resolve(picture);
        },
      };
      this.#waiting.add(waiting);
    });
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.closed;
  }

  #heard(message: ServerMessage): void {
    this.messages.push(message);
    if (message.type === 'snapshot') {
      this.picture = message.picture;
    } else {
      if (this.picture === null || message.seq !== this.#seq + 1) this.gaps += 1;
      if (this.picture !== null) this.picture = applyDelta(this.picture, message);
    }
    this.#seq = message.seq;
    const { picture } = this;
    if (picture !== null) for (const waiting of [...this.#waiting]) if (waiting.isTrue(picture)) waiting.done(picture);
  }
}
