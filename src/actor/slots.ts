// A node's capacity for deliveries: actors take slots before they claim, so that nothing is claimed that cannot be worked on.

interface Waiting {
  readonly most: number;
  readonly resolve: (taken: number) => void;
}

/** Slots are given first come, first served; who waits gets what is free then, at least one. */
export class Slots {
  #free: number;
  #waiting: Waiting[] = [];

  constructor(readonly capacity: number) {
    this.#free = capacity;
  }

  get free(): number {
    return this.#free;
  }

  /** Takes from 1 to `most` slots, as many as are free; waits for one when none is. */
  take(most: number): Promise<number> {
    if (this.#free > 0 && this.#waiting.length === 0) return Promise.resolve(this.#grant(most));
    return new Promise((resolve) => this.#waiting.push({ most, resolve }));
  }

  release(slots: number): void {
    this.#free += slots;
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
