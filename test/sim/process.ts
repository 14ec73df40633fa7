// A simulated process: its own pace of time, timers that wait while it is frozen, and an end after which nothing reaches it.

import type { ProcessTime } from '../../src/domain/clock.js';
import type { World } from './world.js';

/** A process that wakes runs its overdue timers before it reads what came in meanwhile. */
const READS_AFTER_MS = 0.5;

export class Process {
  readonly time: ProcessTime;
  isDead = false;
  #frozenUntilMs = 0;
  readonly #bornAtMs: number;

  constructor(
    readonly world: World,
    readonly id: string,
    /** Its seconds in a true second. */
    readonly pace: number,
  ) {
    this.#bornAtMs = world.nowMs;
    this.time = {
      monotonicMs: () => 1_000 + (world.nowMs - this.#bornAtMs) * this.pace,
      after: (delayMs, call) => {
        let cancelled = false;
        let cancel = (): void => undefined;
        const ring = (): void => {
          if (cancelled || this.isDead) return;
          if (this.isFrozen) cancel = world.at(this.#frozenUntilMs, ring, this.time);
          else call();
        };
        cancel = world.after(Math.max(delayMs, 0) / this.pace, ring, this.time);
        return () => {
          cancelled = true;
          cancel();
        };
      },
    };
  }

  get isFrozen(): boolean {
    return this.world.nowMs < this.#frozenUntilMs;
  }

  /** Whether it is there and running. */
  get runs(): boolean {
    return !this.isDead && !this.isFrozen;
  }

  /** Something comes in from outside at a time. */
  deliver(atMs: number, read: () => void): void {
    this.world.at(
      atMs,
      () => {
        if (this.isDead) return;
        if (this.isFrozen) this.deliver(this.#frozenUntilMs + READS_AFTER_MS, read);
        else read();
      },
      this.time,
    );
  }

  freeze(durationMs: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.world.nowMs + durationMs);
    this.world.note(`${this.id} freezes for ${durationMs.toFixed(0)} ms`);
  }

  /** What it has on its way to others still arrives there. */
  kill(): void {
    this.isDead = true;
    this.world.note(`${this.id} dies`);
  }
}
