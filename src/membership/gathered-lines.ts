// Gathers events of many shards at one moment in one log line: an operator reads about the node, not a line for each
// shard.

import type { Cancel, ProcessTime } from '../domain/clock.js';

const GATHER_MS = 250;

export class GatheredLines<Item> {
  readonly #time: ProcessTime;
  readonly #log: (items: readonly Item[]) => void;
  #items: Item[] = [];
  #cancel: Cancel | null = null;

  /** `log` is called with all items that were added within a quarter of a second of the first. */
  constructor(time: ProcessTime, log: (items: readonly Item[]) => void) {
    this.#time = time;
    this.#log = log;
  }

  add(...items: readonly Item[]): void {
    if (items.length === 0) return;
    this.#items.push(...items);
    this.#cancel ??= this.#time.after(GATHER_MS, () => this.flush());
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const items = this.#items;
    this.#items = [];
    if (items.length > 0) this.#log(items);
  }
}
