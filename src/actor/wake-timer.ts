// An actor's sleep: until a time by Redis's clock, or until it is woken earlier.

import type { Cancel, Clock, ProcessTime } from '../domain/clock.js';

export class WakeTimer {
  readonly #clock: Clock;
  readonly #time: ProcessTime;
  #wake: (() => void) | null = null;
  #untilMs = 0;
  #cancelTimer: Cancel = () => undefined;

  constructor(clock: Clock, time: ProcessTime) {
    this.#clock = clock;
    this.#time = time;
  }

  sleep(durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#cancelTimer();
        this.#wake = null;
        this.#untilMs = 0;
        resolve();
      };
      this.#sleepUntil(this.#clock.nowMs() + durationMs);
    });
  }

  /** Shortens the sleep to end at this time. */
  wakeBy(atMs: number): void {
    if (atMs < this.#untilMs) this.#sleepUntil(atMs);
  }

  wake(): void {
    this.#wake?.();
  }

  #sleepUntil(untilMs: number): void {
    this.#cancelTimer();
    this.#untilMs = untilMs;
    const durationMs = untilMs - this.#clock.nowMs();
    // Timers drop fractions; a timer that fires early finds nothing due.
    if (durationMs > 0) this.#cancelTimer = this.#time.after(Math.ceil(durationMs), () => this.wake());
    else this.wake();
  }
}
