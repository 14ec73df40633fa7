// The subscriptions of one connection, renewed by us whenever that connection is made anew. The client could do that by itself, but nobody
// would hear of a renewal that failed: its promise has no handler, and ends the process.

import type { Redis } from 'ioredis';

/** What is needed of a client: a connection that is used for subscriptions only, and that does not subscribe again by itself. */
export type SubscriberClient = Pick<Redis, 'subscribe' | 'unsubscribe' | 'disconnect' | 'status'> & {
  on(event: 'message', call: (channel: string, text: string) => void): unknown;
  on(event: 'ready', call: () => void): unknown;
};

export class Subscriptions {
  readonly #client: SubscriberClient;
  /** What is subscribed to as soon as there is a connection. */
  readonly #channels = new Set<string>();
  readonly #onRenewed: (() => void)[] = [];

  constructor(client: SubscriberClient) {
    this.#client = client;
    client.on('ready', () => void this.#renew());
  }

  onMessage(call: (channel: string, text: string) => void): void {
    this.#client.on('message', call);
  }

  /** Calls back whenever the subscriptions are there again after a broken connection: what was published meanwhile is unknown. */
  onRenewed(call: () => void): void {
    this.#onRenewed.push(call);
  }

  /** Rejects when Redis is unavailable; then the channels are subscribed to as soon as it is back. */
  async add(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channels.add(channel);
    await this.#client.subscribe(...channels);
  }

  /** Rejects when Redis is unavailable; then the channels are gone with the connection. */
  async remove(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channels.delete(channel);
    await this.#client.unsubscribe(...channels);
  }

  async #renew(): Promise<void> {
    if (this.#channels.size === 0) return;
    try {
      await this.#client.subscribe(...this.#channels);
    } catch {
      // A connection that is gone says 'ready' again by itself. One that is there but does not answer is given up, so that it does too.
      if (this.#client.status === 'ready') this.#client.disconnect(true);
      return;
    }
    for (const call of this.#onRenewed) call();
  }
}
