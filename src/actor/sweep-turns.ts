// Limits how many sweeps read PostgreSQL at a time; the sweep with the soonest work goes first. A sweep requests its
// turn again after each batch, so that after Redis lost its data the soonest work of all shards comes before the later
// work of any.

/** A sweep that waits for its turn. */
interface Waiting {
  readonly dueAtMs: number;
  readonly resolve: () => void;
}

export class SweepTurns {
  #free: number;
  /** In the order in which they came. */
  readonly #waiting: Waiting[] = [];

  constructor(most: number) {
    this.#free = most;
  }

  /**
   * Resolves when the turn has come. `dueAtMs` is the due time of the soonest work that the sweep may find. The caller
   * must return the turn with `release`.
   */
  acquire(dueAtMs: number): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.#waiting.push({ dueAtMs, resolve }));
  }

  release(): void {
    const next = this.#soonest();
    if (next === null) {
      this.#free += 1;
      return;
    }
    this.#waiting.splice(next, 1)[0]?.resolve();
  }

  /** Returns the turn when another sweep has sooner work, and waits for the next turn. */
  async pass(dueAtMs: number): Promise<void> {
    const next = this.#soonest();
    if (next === null || (this.#waiting[next]?.dueAtMs ?? Infinity) > dueAtMs) return;
    const turn = this.acquire(dueAtMs);
    this.release();
    await turn;
  }

  /** Returns the index of the next one; among equals the one that came first. */
  #soonest(): number | null {
    let soonest: number | null = null;
    this.#waiting.forEach(({ dueAtMs }, index) => {
      if (soonest === null || dueAtMs < (this.#waiting[soonest]?.dueAtMs ?? Infinity)) soonest = index;
    });
    return soonest;
  }
}
