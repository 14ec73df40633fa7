// A node's capacity for deliveries: actors acquire permits before they claim, so that they claim no more than they can
// process.
//
// When permits are scarce, those released in one turn of the event loop are granted together at its end, or a few
// milliseconds later when they are few: one claim of forty entries costs a tenth of forty claims of one entry each.
//
// A delivery that was answered and waits only for its outcome to be recorded no longer uses the network. A bounded
// number of these release their permits early. Beyond it they keep them, so that outcomes do not pile up while
// PostgreSQL is slow.

import type { Cancel, ProcessTime } from '../domain/clock.js';

interface Waiting {
  readonly most: number;
  readonly resolve: (granted: number) => void;
}

/** A pending request for permits. */
export interface Acquisition {
  /** How many permits were granted: at least one, unless it was canceled. */
  readonly granted: Promise<number>;
  /** Cancels the request, if nothing was granted yet. */
  cancel(): void;
}

interface Gathering {
  readonly time: ProcessTime;
  readonly permits: number;
  readonly forMs: number;
}

export interface SemaphoreSettings {
  /** How many may wait to be recorded without a permit, however small the capacity is. */
  readonly minReleasedBeforeCommit?: number;
  /** Released permits wait for more until there are `permits` of them or for `forMs`; not at all when left out. */
  readonly gather?: Gathering;
}

const NOTHING_TO_CANCEL = (): void => undefined;

/** As many as are answered while one commit takes place. */
const MIN_RELEASED_BEFORE_COMMIT = 200;

/** Grants permits first come, first served; whoever waits gets what is free then, at least one. */
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
    { minReleasedBeforeCommit = MIN_RELEASED_BEFORE_COMMIT, gather }: SemaphoreSettings = {},
  ) {
    this.#free = capacity;
    this.#minReleasedBeforeCommit = minReleasedBeforeCommit;
    this.#gather = gather ?? null;
  }

  get free(): number {
    return this.#free;
  }

  /** Acquires from 1 to `most` permits, as many as are free; waits for one when none is free. */
  acquire(most: number): Acquisition {
    if (this.#free > 0 && this.#waiting.length === 0) {
      return { granted: Promise.resolve(this.#grant(most)), cancel: NOTHING_TO_CANCEL };
    }
    let resolve: (granted: number) => void = NOTHING_TO_CANCEL;
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

  release(permits: number): void {
    this.#free += permits;
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const gather = this.#gather;
      if (gather === null || this.#free >= gather.permits) this.#grantWaiting();
      else this.#gathering ??= gather.time.after(gather.forMs, () => this.#grantWaiting());
    });
  }

  /**
   * Releases a permit before its outcome is recorded. Returns false when too many did: the caller then keeps it until
   * `release`.
   */
  releaseBeforeCommit(): boolean {
    if (this.#releasedBeforeCommit >= Math.max(this.capacity, this.#minReleasedBeforeCommit)) return false;
    this.#releasedBeforeCommit += 1;
    this.release(1);
    return true;
  }

  /** Called when the outcome of a delivery that released its permit early is recorded. */
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
