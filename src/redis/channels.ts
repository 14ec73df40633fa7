// What nodes tell each other at once, over Redis's publish and subscribe. Everything told here is a hint that saves time: whoever misses it
// finds out by itself a little later (an idle actor's next claim, the next heartbeat).

import type { Cluster, Redis } from 'ioredis';
import type { Subscriptions } from './subscriptions.js';

export interface ChannelEvents {
  /** Work due at this time was queued in a shard of ours by another node. */
  readonly onWake: (shard: number, dueAtMs: number) => void;
  /** Shards are free to be taken. */
  readonly onFree: () => void;
  /** Somebody asks a node, by its id, to drain. */
  readonly onDrain: (id: string) => void;
  /** The subscription is back after it was broken: what was told meanwhile is unknown. */
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

  /** Hears of work for shards of ours; without it they would sleep until their own next claim. Does not fail. */
  async subscribe(shards: readonly number[]): Promise<void> {
    await this.#quietly(() => this.#subscriptions.add(this.#wakeChannels(shards)));
  }

  async unsubscribe(shards: readonly number[]): Promise<void> {
    await this.#quietly(() => this.#subscriptions.remove(this.#wakeChannels(shards)));
  }

  /** Tells the owner of a shard, another node, that work due then was queued. */
  wake(shard: number, dueAtMs: number): void {
    void this.#quietly(() => this.#publisher.publish(`${this.#prefix}:wake:${shard}`, String(Math.ceil(dueAtMs))));
  }

  /** Tells every node that there are shards to be taken. */
  async announceFree(): Promise<void> {
    await this.#quietly(() => this.#publisher.publish(`${this.#prefix}:cluster`, 'free'));
  }

  /** Asks a node to drain. */
  async requestDrain(id: string): Promise<void> {
    await this.#publisher.publish(`${this.#prefix}:cluster`, `drain ${id}`);
  }

  #wakeChannels(shards: readonly number[]): string[] {
    return shards.map((shard) => `${this.#prefix}:wake:${shard}`);
  }

  async #quietly(tell: () => Promise<unknown>): Promise<void> {
    try {
      await tell();
    } catch {
      // Redis is unavailable; a hint that is missed costs a little time.
    }
  }
}
