// The subscriptions of one connection, renewed here whenever it reconnects. The client could do so itself, but a failed
// renewal would be an unhandled rejection, which ends the process.

import type { Redis } from 'ioredis';

/** The part of a client that is used here: a connection for subscriptions only that does not resubscribe by itself. */
export type SubscriberClient = Pick<Redis, 'subscribe' | 'unsubscribe' | 'disconnect' | 'status'> & {
  on(event: 'message', call: (channel: string, text: string) => void): unknown;
  on(event: 'ready', call: () => void): unknown;
};

export class Subscriptions {
  readonly #client: SubscriberClient;
  /** Channels to subscribe to as soon as there is a connection. */
  readonly #channels = new Set<string>();
  readonly #onRenewed: (() => void)[] = [];

  constructor(client: SubscriberClient) {
    this.#client = client;
    client.on('ready', () => void this.#renew());
  }

  onMessage(call: (channel: string, text: string) => void): void {
    this.#client.on('message', call);
  }

  /** Registers a callback for renewed subscriptions after a broken connection: messages may have been missed. */
  onRenewed(call: () => void): void {
    this.#onRenewed.push(call);
  }

  /**
   * Subscribes to channels. Rejects when Redis is unavailable; the channels are then subscribed to as soon as it is
   * available again.
   */
  async add(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channels.add(channel);
    await this.#client.subscribe(...channels);
  }

  /**
   * Unsubscribes from channels. Rejects when Redis is unavailable; the subscriptions then ended with the connection.
   */
  async remove(channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#channels.delete(channel);
    await this.#client.unsubscribe(...channels);
  }

  async #renew(): Promise<void> {
    if (this.#channels.size === 0) return;
    try {
      await this.#client.subscribe(...this.#channels);
    } catch {
      // A closed connection becomes ready again by itself. An open one that does not answer is closed, so that it does
      // too.
      if (this.#client.status === 'ready') this.#client.disconnect(true);
      return;
    }
    for (const call of this.#onRenewed) call();
  }
}
