// Messages that nodes publish while somebody watches the console: nodes with watchers report them, and then all nodes
// publish reports. No decision depends on them.

import type { Cluster, Redis } from 'ioredis';
import type { Subscriptions } from './subscriptions.js';

export class ConsoleChannels {
  readonly #publisher: Redis | Cluster;
  readonly #subscriptions: Subscriptions;
  readonly #watch: string;
  readonly #report: string;
  #onReport: (text: string) => void = () => undefined;

  constructor(publisher: Redis | Cluster, subscriptions: Subscriptions, prefix: string) {
    this.#publisher = publisher;
    this.#subscriptions = subscriptions;
    this.#watch = `${prefix}:console:watch`;
    this.#report = `${prefix}:console:pulse`;
  }

  /** Subscribes to reports of watchers. */
  async listen(onWatch: (text: string) => void): Promise<void> {
    this.#subscriptions.onMessage((channel, text) => {
      if (channel === this.#watch) onWatch(text);
      else if (channel === this.#report) this.#onReport(text);
    });
    await this.#subscriptions.add([this.#watch]);
  }

  /** Subscribes to the reports of all nodes, including this one. Does not fail. */
  async subscribeToReports(onReport: (text: string) => void): Promise<void> {
    this.#onReport = onReport;
    await quietly(() => this.#subscriptions.add([this.#report]));
  }

  async unsubscribeFromReports(): Promise<void> {
    await quietly(() => this.#subscriptions.remove([this.#report]));
  }

  watch(text: string): void {
    void quietly(() => this.#publisher.publish(this.#watch, text));
  }

  pulse(text: string): void {
    void quietly(() => this.#publisher.publish(this.#report, text));
  }
}

async function quietly(publish: () => Promise<unknown>): Promise<void> {
  try {
    await publish();
  } catch {
    // Redis is unavailable: the console shows it.
  }
}
