/** A TCP path that can be cut, made a black hole, or slowed: what lies between a node and a store when the network is ill. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export type PathMode =
  | { readonly kind: 'open' }
  /** Connections are reset, new ones as well. */
  | { readonly kind: 'cut' }
  /** Nothing passes and nothing is reset: connections look alive and are not. */
  | { readonly kind: 'hole' }
  /** Everything passes, this much later. */
  | { readonly kind: 'slow'; readonly latencyMs: number };

/** So much may wait in a slow line or before a hole; more is not taken from the sender. */
const LINE_MAX_BYTES = 4 * 2 ** 20;

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export class TcpPath {
  readonly #target: number;
  readonly #listener: Server;
  readonly #pairs = new Set<Pair>();
  #mode: PathMode = { kind: 'open' };
  /** Those who wait for another mode. */
  #waiting: (() => void)[] = [];

  private constructor(target: number) {
    this.#target = target;
    // Half-open sockets stay as they are: an end passes on when its turn comes, behind the bytes before it.
    this.#listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#take(client));
  }

  /** Listens on a free port of 127.0.0.1 and leads to `target`, a port of the same. */
  static async open(target: number): Promise<TcpPath> {
    const path = new TcpPath(target);
    await new Promise<void>((resolve, reject) => {
      path.#listener.once('error', reject);
      path.#listener.listen(0, '127.0.0.1', () => resolve());
    });
    return path;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** `dropConnections` resets what is connected, as when the other side rebooted while nobody could hear. */
  set(mode: PathMode, dropConnections = false): void {
    this.#mode = mode;
    const waiting = this.#waiting;
    this.#waiting = [];
    if (mode.kind === 'cut' || dropConnections) for (const pair of [...this.#pairs]) this.#reset(pair);
    for (const go of waiting) go();
  }

  close(): void {
    this.#listener.close();
    for (const pair of [...this.#pairs]) this.#reset(pair);
  }

  #take(client: Socket): void {
    if (this.#mode.kind === 'cut') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const pair = { client, server };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.on('error', () => void this.#passReset(pair));
      socket.on('close', () => void this.#passReset(pair));
    }
    this.#carry(client, server);
    this.#carry(server, client);
  }

  /** Carries one direction: what arrives waits in a line, and each piece passes when the mode lets it, in order. */
  #carry(from: Socket, to: Socket): void {
    const line: { readonly bytes: Buffer | null; readonly arrivedAtMs: number }[] = [];
    let waitingBytes = 0;
    let moving = false;
    const move = async (): Promise<void> => {
      if (moving) return;
      moving = true;
      for (let first = line[0]; first !== undefined && !to.destroyed; first = line[0]) {
        await this.#passage(first.arrivedAtMs);
        line.shift();
        if (first.bytes === null) to.end();
        else to.write(first.bytes);
        waitingBytes -= first.bytes?.length ?? 0;
        if (from.isPaused() && waitingBytes < LINE_MAX_BYTES) from.resume();
      }
      moving = false;
    };
    from.on('data', (bytes) => {
      line.push({ bytes, arrivedAtMs: performance.now() });
      waitingBytes += bytes.length;
      if (waitingBytes > LINE_MAX_BYTES) from.pause();
      void move();
    });
    from.on('end', () => {
      line.push({ bytes: null, arrivedAtMs: performance.now() });
      void move();
    });
  }

  async #passage(arrivedAtMs: number): Promise<void> {
    while (this.#mode.kind === 'hole') await this.#change();
    const mode = this.#mode;
    const waitMs = mode.kind === 'slow' ? arrivedAtMs + mode.latencyMs - performance.now() : 0;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }

  /** In a black hole not even a reset passes: the other side goes on believing. */
  async #passReset(pair: Pair): Promise<void> {
    while (this.#mode.kind === 'hole' && this.#pairs.has(pair)) await this.#change();
    this.#reset(pair);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #reset(pair: Pair): void {
    this.#pairs.delete(pair);
    for (const socket of [pair.client, pair.server]) if (!socket.destroyed) socket.resetAndDestroy();
  }
}
