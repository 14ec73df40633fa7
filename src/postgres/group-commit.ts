// Turns concurrent writes into few large ones: whatever comes in while a group is being written forms the next group.
//
// A lone write goes out at once, and under load the time of one round trip is what gathers the next group, so that the waiting never
// exceeds what PostgreSQL itself needs. Where nobody waits at the other end, a group can also be told to leave some time after the one
// before, so that several nodes on one table write few large groups rather than many small ones. Callers are told when their group is
// committed.
//
// One bad item must not take its neighbours along: a group that PostgreSQL refuses is written again in halves, until the item
// that is at fault stands alone and its caller is told.

import { CarillonError } from '../domain/errors.js';
import type { ProcessTime } from '../domain/clock.js';

export interface GroupCommitSettings<Item> {
  /** Most items of one group. */
  readonly maxItems: number;
  /** Most groups that are being written at once. */
  readonly maxGroups: number;
  /** Most weight of one group, in the unit of `weigh`; an item that is heavier by itself goes alone. No limit when left out. */
  readonly maxWeight?: number;
  /** What an item weighs, such as its bytes; nothing when left out. */
  readonly weigh?: (item: Item) => number;
  /** A group begins no sooner than `forMs` after the one before began, unless `items` are waiting; at once when left out. */
  readonly gather?: { readonly time: ProcessTime; readonly forMs: number; readonly items: number };
}

/** Items that came together, and their results as they come in. */
class Together<Result> {
  readonly results: Promise<Result[]>;
  readonly #results: Result[] = [];
  #open: number;
  #resolve: (results: Result[]) => void = () => undefined;
  /** Ends the waiting for all of them. */
  reject: (error: unknown) => void = () => undefined;

  constructor(items: number) {
    this.#open = items;
    this.results = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.reject = reject;
    });
    if (items === 0) this.#resolve([]);
  }

  settle(index: number, result: Result): void {
    this.#results[index] = result;
    this.#open -= 1;
    if (this.#open === 0) this.#resolve(this.#results);
  }
}

interface Waiting<Item, Result> {
  readonly item: Item;
  /** Where it belongs: a promise for each item of a large batch would cost more than its row. */
  readonly together: Together<Result>;
  readonly index: number;
}

export class GroupCommit<Item, Result> {
  readonly #settings: GroupCommitSettings<Item>;
  readonly #write: (items: Item[]) => Promise<Result[]>;
  #waiting: Waiting<Item, Result>[] = [];
  #groups = 0;
  #writing = 0;
  #scheduled = false;
  /** A group began a moment ago. */
  #gathering = false;

  /** `write` writes a group and gives one result for each item, in order; its rejection is every item's. */
  constructor(settings: GroupCommitSettings<Item>, write: (items: Item[]) => Promise<Result[]>) {
    this.#settings = settings;
    this.#write = write;
  }

  /** Items that wait for their group. */
  get backlog(): number {
    return this.#waiting.length;
  }

  /** Items that wait, or whose group is being written. */
  get underWay(): number {
    return this.#waiting.length + this.#writing;
  }

  async add(item: Item): Promise<Result> {
    const [result] = await this.addAll([item]);
    return result as Result;
  }

  /** One result for each item, in order. Rejects with the first fault of any; the others may be committed nevertheless. */
  addAll(items: readonly Item[]): Promise<Result[]> {
    const together = new Together<Result>(items.length);
    items.forEach((item, index) => this.#waiting.push({ item, together, index }));
    this.#schedule();
    return together.results;
  }

  /**
   * A group is formed at the end of the tick, so that what one event brings goes together; the next one in the next round of the event loop,
   * since making the statement of a large one takes milliseconds.
   */
  #schedule(): void {
    if (this.#scheduled || !this.#mayBegin()) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (!this.#mayBegin()) return;
    const group = this.#waiting.splice(0, this.#nextSize());
    this.#groups += 1;
    this.#gatherNext();
    void this.#commit(group);
    this.#schedule();
  }

  #mayBegin(): boolean {
    const { maxGroups, gather } = this.#settings;
    if (this.#waiting.length === 0 || this.#groups >= maxGroups) return false;
    return !this.#gathering || this.#waiting.length >= (gather?.items ?? 0);
  }

  #gatherNext(): void {
    const { gather } = this.#settings;
    if (gather === undefined || this.#gathering) return;
    this.#gathering = true;
    gather.time.after(gather.forMs, () => {
      this.#gathering = false;
      this.#schedule();
    });
  }

  /** How many of those that wait make up the next group, in order. */
  #nextSize(): number {
    const { maxItems, maxWeight = Infinity, weigh = () => 0 } = this.#settings;
    let size = 0;
    let weight = 0;
    for (const { item } of this.#waiting) {
      weight += weigh(item);
      if (size === maxItems || (size > 0 && weight > maxWeight)) break;
      size += 1;
    }
    return size;
  }

  async #commit(group: Waiting<Item, Result>[]): Promise<void> {
    this.#writing += group.length;
    await this.#writeGroup(group);
    this.#writing -= group.length;
    this.#groups -= 1;
    this.#schedule();
  }

  async #writeGroup(group: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#write(group.map((waiting) => waiting.item));
      group.forEach(({ together, index }, at) => together.settle(index, results[at] as Result));
    } catch (error) {
      if (group.length === 1 || isStoreUnavailable(error)) {
        group.forEach(({ together }) => together.reject(error));
        return;
      }
      const half = group.length >> 1;
      await this.#writeGroup(group.slice(0, half));
      await this.#writeGroup(group.slice(half));
    }
  }
}

/** Nobody's fault: smaller groups would fare no better. */
function isStoreUnavailable(error: unknown): boolean {
  return (
    error instanceof CarillonError && (error.code === 'POSTGRES_UNAVAILABLE' || error.code === 'REDIS_UNAVAILABLE')
  );
}
