// What nodes tell each other while somebody looks at the cluster: those that have watchers say so, and then all say what they do. Nobody
// decides anything by it.

import type { Cluster, Redis } from 'ioredis';

export class ConsoleChannels {
  readonly #publisher: Redis | Cluster;
  readonly #subscriber: Redis | Cluster;
  readonly #watch: string;
  readonly #pulse: string;
  #onPulse: (text: string) => void = () => undefined;

  /** `subscriber` is a connection that is used for subscriptions only. */
  constructor(publisher: Redis | Cluster, subscriber: Redis | Cluster, prefix: string) {
    this.#publisher = publisher;
    this.#subscriber = subscriber;
    this.#watch = `${prefix}:console:watch`;
    this.#pulse = `${prefix}:console:pulse`;
  }

  /** Hears of watchers. */
  async listen(onWatch: (text: string) => void): Promise<void> {
    this.#subscriber.on('message', (channel: string, text: string) => {
      if (channel === this.#watch) onWatch(text);
      else if (channel === this.#pulse) this.#onPulse(text);
    });
    await this.#subscriber.subscribe(this.#watch);
  }

  /** Hears what all nodes say, this one among them. Does not fail. */
  async hearPulses(onPulse: (text: string) => void): Promise<void> {
    this.#onPulse = onPulse;
    await quietly(() => this.#subscriber.subscribe(this.#pulse));
  }

  async hearNoPulses(): Promise<void> {
    await quietly(() => this.#subscriber.unsubscribe(this.#pulse));
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
