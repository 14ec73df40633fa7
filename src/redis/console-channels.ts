// What nodes tell each other while somebody looks at the cluster: those that have watchers say so, and then all say what they do. Nobody
// decides anything by it.

import type { Cluster, Redis } from 'ioredis';
import type { Subscriptions } from './subscriptions.js';

export class ConsoleChannels {
  readonly #publisher: Redis | Cluster;
  readonly #subscriptions: Subscriptions;
  readonly #watch: string;
  readonly #pulse: string;
  #onPulse: (text: string) => void = () => undefined;

  constructor(publisher: Redis | Cluster, subscriptions: Subscriptions, prefix: string) {
    this.#publisher = publisher;
    this.#subscriptions = subscriptions;
    this.#watch = `${prefix}:console:watch`;
    this.#pulse = `${prefix}:console:pulse`;
  }

  /** Hears of watchers. */
  async listen(onWatch: (text: string) => void): Promise<void> {
    this.#subscriptions.onMessage((channel, text) => {
      if (channel === this.#watch) onWatch(text);
      else if (channel === this.#pulse) this.#onPulse(text);
    });
    await this.#subscriptions.add([this.#watch]);
  }

  /** Hears what all nodes say, this one among them. Does not fail. */
  async hearPulses(onPulse: (text: string) => void): Promise<void> {
    this.#onPulse = onPulse;
    await quietly(() => this.#subscriptions.add([this.#pulse]));
  }

  async hearNoPulses(): Promise<void> {
    await quietly(() => this.#subscriptions.remove([this.#pulse]));
  }

  watch(text: string): void {
    void quietly(() => this.#publisher.publish(this.#watch, text));
  }

  pulse(text: string): void {
    void quietly(() => this.#publisher.publish(this.#pulse, text));
  }
}

async function quietly(tell: () => Promise<unknown>): Promise<void> {
  try {
    await tell();
  } catch {
    // Redis is away: those who watch see that.
  }
}
