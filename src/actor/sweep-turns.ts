// Whose sweep may read PostgreSQL: a few at a time, whoever has the soonest work first. A sweep asks for its turn again after each batch, so that after
// a loss of Redis the soonest work of all shards comes before the later work of any.

/** Somebody who waits for a turn. */
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

  /** Resolves when the turn has come. `dueAtMs`: of the soonest work that may be found with it. To be returned with `release`. */
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

  /** Returns the turn to whoever has sooner work, and waits for the next one. */
  async pass(dueAtMs: number): Promise<void> {
    const next = this.#soonest();
    if (next === null || (this.#waiting[next]?.dueAtMs ?? Infinity) > dueAtMs) return;
    const turn = this.acquire(dueAtMs);
    this.release();
    await turn;
  }

  /** The index of whoever goes next; among equals the first that came. */
  #soonest(): number | null {
    let soonest: number | null = null;
    this.#waiting.forEach(({ dueAtMs }, index) => {
      if (soonest === null || dueAtMs < (this.#waiting[soonest]?.dueAtMs ?? Infinity)) soonest = index;
    });
    return soonest;
  }
}
