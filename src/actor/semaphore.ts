// A node's capacity for deliveries: actors take slots before they claim, so that nothing is claimed that cannot be worked on.
//
// When slots are scarce, those that come free in one turn of the event loop are given out together at its end, or a few milliseconds later
// when they are few: one actor that claims forty entries costs a tenth of forty actors that claim one each.
//
// A delivery that was answered and only waits to be recorded does not use the network any more. A bounded number of these give
// their slot back early; beyond it they keep it, so that nothing piles up before a slow table.

import type { Cancel, ProcessTime } from '../domain/clock.js';

interface Waiting {
  readonly most: number;
  readonly resolve: (taken: number) => void;
}

/** Somebody's turn to be given slots. */
export interface Acquisition {
  /** How many were given: at least one, unless the turn was given up. */
  readonly granted: Promise<number>;
  /** Takes none, if none were given yet. */
  cancel(): void;
}

interface Gathering {
  readonly time: ProcessTime;
  readonly slots: number;
  readonly forMs: number;
}

export interface SemaphoreSettings {
  /** So many may wait to be recorded without a slot, however few slots there are. */
  readonly minReleasedBeforeCommit?: number;
  /** Slots that came free wait for others, until there are so many or for so long; not at all when left out. */
  readonly gather?: Gathering;
}

const NOTHING_TO_GIVE_UP = (): void => undefined;

/** As many as a commit's duration brings. */
const MIN_EARLY = 200;

/** Slots are given first come, first served; who waits gets what is free then, at least one. */
export class Semaphore {
  #free: number;
  #releasedBeforeCommit = 0;
  #waiting: Waiting[] = [];
  #scheduled = false;
  #gathering: Cancel | null = null;

  readonly #minReleasedBeforeCommit: number;
  readonly #gather: Gathering | null;

  constructor(
    readonly capacity: number,
    { minReleasedBeforeCommit: minEarly = MIN_EARLY, gather }: SemaphoreSettings = {},
  ) {
    this.#free = capacity;
    this.#minReleasedBeforeCommit = minEarly;
    this.#gather = gather ?? null;
  }

  get free(): number {
    return this.#free;
  }

  /** Takes from 1 to `most` slots, as many as are free; waits for one when none is. */
  acquire(most: number): Acquisition {
    if (this.#free > 0 && this.#waiting.length === 0) {
      return { granted: Promise.resolve(this.#grant(most)), cancel: NOTHING_TO_GIVE_UP };
    }
    let resolve: (taken: number) => void = NOTHING_TO_GIVE_UP;
    const granted = new Promise<number>((resolved) => (resolve = resolved));
    const waiting = { most, resolve };
    this.#waiting.push(waiting);
    return { granted, cancel: () => this.#cancel(waiting) };
  }

  #cancel(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    waiting.resolve(0);
  }

  release(slots: number): void {
    this.#free += slots;
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const gather = this.#gather;
      if (gather === null || this.#free >= gather.slots) this.#grantWaiting();
      else this.#gathering ??= gather.time.after(gather.forMs, () => this.#grantWaiting());
    });
  }

  /** Gives a slot back before its work is recorded. False when too many did: then it is kept until `release`. */
  releaseBeforeCommit(): boolean {
    if (this.#releasedBeforeCommit >= Math.max(this.capacity, this.#minReleasedBeforeCommit)) return false;
    this.#releasedBeforeCommit += 1;
    this.release(1);
    return true;
  }

  /** Work whose slot was given back early is recorded. */
  recorded(): void {
    this.#releasedBeforeCommit -= 1;
  }

  #grantWaiting(): void {
    this.#gathering?.();
    this.#gathering = null;
    while (this.#free > 0) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next.resolve(this.#grant(next.most));
    }
  }

  #grant(most: number): number {
    const granted = Math.min(most, this.#free);
    this.#free -= granted;
    return granted;
  }
}
