/** Pauses between restarts of a process that ends again and again: growing, and short again after one that ran for a while. */

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** A process that ran this long was well. */
const WELL_AFTER_MS = 60_000;

export class Backoff {
  #pauseMs = FIRST_PAUSE_MS;

  /** The pause before the next start of a process that ran for `ranMs`; 0 when it did not start at all. */
  next(ranMs: number): number {
    if (ranMs > WELL_AFTER_MS) this.#pauseMs = FIRST_PAUSE_MS;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    return pauseMs;
  }
}
