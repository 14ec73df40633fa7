// What a node has opened so far, to be closed the last first: when it stops, and when a later step of its start fails.

import type { Logger } from 'pino';

export class Closers {
  readonly #log: Logger;
  readonly #open: { readonly what: string; readonly close: () => unknown }[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Called as soon as something is made that must be closed: `close` may come before it was ever used. */
  add(what: string, close: () => unknown): void {
    this.#open.push({ what, close });
  }

  /** One that fails keeps no other from being closed. Throws the first failure when all has been tried. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let one = this.#open.pop(); one !== undefined; one = this.#open.pop()) {
      try {
        await one.close();
      } catch (error) {
        this.#log.warn({ err: error, what: one.what }, 'could not be closed in order');
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
