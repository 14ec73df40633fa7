// Compares Redis's clock, which decides what is due, with PostgreSQL's and the node's own. One of the three that is far from the others is
// somebody's mistake: it is told, and nothing is deleted while it lasts, since what looks old may not be.

import type { Cancel, Clock, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { Database } from './database.js';
import { every } from '../time/waiting.js';

/** Each clock minus Redis's, in milliseconds. */
export interface ClockDifferences {
  readonly postgresMs: number;
  readonly nodeMs: number;
}

export interface ClockCheckSettings {
  readonly time: ProcessTime;
  readonly everyMs: number;
  /** Clocks that differ by more than this disagree. */
  readonly toleranceMs: number;
  /** Told when they begin to disagree, and (null) when they agree again. */
  readonly onChange: (differences: ClockDifferences | null) => void;
}

export class ClockCheck {
  readonly #database: Pick<Database, 'run'>;
  readonly #clock: Clock;
  readonly #nodeClock: Clock;
  readonly #settings: ClockCheckSettings;
  #cancelChecks: Cancel | null = null;
  #mostMs = 0;

  /** `clock`: Redis's. `nodeClock`: the node's own wall clock. */
  constructor(database: Pick<Database, 'run'>, clock: Clock, nodeClock: Clock, settings: ClockCheckSettings) {
    this.#database = database;
    this.#clock = clock;
    this.#nodeClock = nodeClock;
    this.#settings = settings;
  }

  /** By how much the two that differed most did when they were last compared, in milliseconds. */
  get differenceMs(): number {
    return this.#mostMs;
  }

  start(): void {
    // PostgreSQL that is unavailable is noticed and told by those who work with it.
    const check = (): void => void this.agree().catch(() => undefined);
    check();
    this.#cancelChecks ??= every(this.#settings.time, this.#settings.everyMs, check);
  }

  stop(): void {
    this.#cancelChecks?.();
    this.#cancelChecks = null;
  }

  /** Compares the clocks now. Throws POSTGRES_UNAVAILABLE when PostgreSQL does not answer. */
  async agree(): Promise<boolean> {
    const beforeMs = this.#clock.nowMs();
    const [row] = await this.#database.run('select-clock');
    if (row === undefined) throw new CarillonError('POSTGRES_UNAVAILABLE', 'PostgreSQL did not say what time it is');
    const nowMs = this.#clock.nowMs();
    // It was read somewhere between: what lies within is no difference.
    const postgresMs = row.at < beforeMs ? row.at - beforeMs : Math.max(0, row.at - nowMs);
    const nodeMs = this.#nodeClock.nowMs() - nowMs;
    const { toleranceMs, onChange } = this.#settings;
    const wasMs = this.#mostMs;
    this.#mostMs = Math.max(Math.abs(postgresMs), Math.abs(nodeMs), Math.abs(postgresMs - nodeMs));
    const agree = this.#mostMs <= toleranceMs;
    if (agree !== wasMs <= toleranceMs) onChange(agree ? null : { postgresMs, nodeMs });
    return agree;
  }
}
