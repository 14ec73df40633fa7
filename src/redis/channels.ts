// Messages that nodes publish to each other over Redis. Every message is a hint that saves time: a node that misses it
// finds out a little later by itself (an idle actor's next claim, the next heartbeat).

import type { Cluster, Redis } from 'ioredis';
import type { Subscriptions } from './subscriptions.js';

export interface ChannelEvents {
  /** Work due at this time was queued in a shard of ours by another node. */
  readonly onWake: (shard: number, dueAtMs: number) => void;
  /** Shards are free to be acquired. */
  readonly onFree: () => void;
  /** A node, given by its id, is requested to drain. */
  readonly onDrain: (id: string) => void;
  /** The subscription was renewed after its connection broke: messages may have been missed. */
  readonly onGap: () => void;
}

export class Channels {
  readonly #publisher: Redis | Cluster;
  readonly #subscriptions: Subscriptions;
  readonly #prefix: string;

  constructor(publisher: Redis | Cluster, subscriptions: Subscriptions, prefix: string) {
    this.#publisher = publisher;
    this.#subscriptions = subscriptions;
    this.#prefix = prefix;
  }

  async listen(events: ChannelEvents): Promise<void> {
    const wakes = `${this.#prefix}:wake:`;
    this.#subscriptions.onMessage((channel, text) => {
      if (channel.startsWith(wakes)) events.onWake(Number(channel.slice(wakes.length)), Number(text));
      else if (text === 'free') events.onFree();
      else if (text.startsWith('drain ')) events.onDrain(text.slice('drain '.length));
    });
    this.#subscriptions.onRenewed(() => events.onGap());
    await this.#subscriptions.add([`${this.#prefix}:cluster`]);
  }

  /**
   * Subscribes to wakes of shards that this node owns; without them their actors sleep until their own next claim. Does
   * not fail.
   */
  async subscribe(shards: readonly number[]): Promise<void> {
    await this.#quietly(() => this.#subscriptions.add(this.#wakeChannels(shards)));
  }

  async unsubscribe(shards: readonly number[]): Promise<void> {
    await this.#quietly(() => this.#subscriptions.remove(this.#wakeChannels(shards)));
  }

  /** Publishes to the owner of a shard, another node, that work due at this time was queued. */
  wake(shard: number, dueAtMs: number): void {
    void this.#quietly(() => this.#publisher.publish(`${this.#prefix}:wake:${shard}`, String(Math.ceil(dueAtMs))));
  }

  /** Publishes to every node that shards are free. */
  async announceFree(): Promise<void> {
    await this.#quietly(() => this.#publisher.publish(`${this.#prefix}:cluster`, 'free'));
  }

  /** Requests a node to drain. */
  async requestDrain(id: string): Promise<void> {
    await this.#publisher.publish(`${this.#prefix}:cluster`, `drain ${id}`);
  }

  #wakeChannels(shards: readonly number[]): string[] {
    return shards.map((shard) => `${this.#prefix}:wake:${shard}`);
  }

  async #quietly(publish: () => Promise<unknown>): Promise<void> {
    try {
      await publish();
    } catch {
      // Redis is unavailable; a hint that is missed costs a little time.
    }
  }
}
