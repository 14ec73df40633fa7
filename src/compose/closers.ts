// Closes what a node has opened, in reverse order: when it stops, and when a later step of its start fails.

import type { Logger } from 'pino';

export class Closers {
  readonly #log: Logger;
  readonly #open: { readonly what: string; readonly close: () => unknown }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Registers something that must be closed, as soon as it is created: `close` may be called before it was ever used.
   */
  add(what: string, close: () => unknown): void {
    this.#open.push({ what, close });
  }

  /** Closes everything, also when one fails. Throws the first failure at the end. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let one = this.#open.pop(); one !== undefined; one = this.#open.pop()) {
      try {
        await one.close();
      } catch (error) {
        this.#log.warn({ err: error, what: one.what }, 'a part of the node could not be closed in order');
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
