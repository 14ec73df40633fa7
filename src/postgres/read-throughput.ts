// How a page walks through rows that no index picks: in steps, few rows at first and more where little is found, and never more than the time
// that is left allows at the pace so far. So a list answers in time whatever is asked, and its cursor goes on from there.

import type { Clock } from '../domain/clock.js';

/** A page that has looked for this long ends where it is: with what is around it, a list answers within 200 ms. */
export const PAGE_BUDGET_MS = 120;
/** By how much steps widen. */
const WIDENING = 8;
/** A step holds its rows in memory. */
const STEP_ROWS_MAX = 5_000;

export class ReadThroughput {
  readonly #clock: Clock;
  readonly #untilMs: number;
  #stepFromMs: number;
  #stepRows: number;

  /** Begins now, with a step of `firstRows`. */
  constructor(clock: Clock, firstRows: number) {
    this.#clock = clock;
    this.#stepRows = firstRows;
    this.#stepFromMs = clock.nowMs();
    this.#untilMs = this.#stepFromMs + PAGE_BUDGET_MS;
  }

  /** How many rows the step looks at, at most. */
  get stepRows(): number {
    return this.#stepRows;
  }

  /** After a step: whether there is time for another one, which `stepRows` then tells of. */
  goOn(): boolean {
    const nowMs = this.#clock.nowMs();
    const tookMs = Math.max(nowMs - this.#stepFromMs, Number.EPSILON);
    const affordable = Math.floor((this.#stepRows / tookMs) * (this.#untilMs - nowMs));
    // A narrower step may take as long as this one did: each has its own beginning.
    if (affordable < this.#stepRows) return false;
    const wider = Math.max(this.#stepRows, Math.min(this.#stepRows * WIDENING, STEP_ROWS_MAX));
    this.#stepRows = Math.min(wider, affordable);
    this.#stepFromMs = nowMs;
    return true;
  }
}
