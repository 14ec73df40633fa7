// Care of PostgreSQL: partitions made ahead, old ones dropped whole, expired keys and old changes of schedules forgotten.

import type { Logger } from 'pino';
import type { Cancel, Clock, ProcessTime } from '../domain/clock.js';
import { CarillonError } from '../domain/errors.js';
import type { ClockCheck } from './clock-check.js';
import type { Database } from './database.js';
import { dropOldPartitions, ensurePartitions, type PartitionBounds } from './partitions.js';
import { every } from '../time/waiting.js';
import { Summaries } from './summaries.js';

export interface MaintenanceSettings {
  readonly time: ProcessTime;
  readonly everyMs: number;
  /** Left out: the indexes are summarized when the rest is done. */
  readonly summarizeEveryMs?: number;
  readonly delayMaxMs: number;
  readonly retentionMs: number;
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const ROWS_AT_ONCE = 5_000;

/** The time that must have partitions: what is kept, and as far ahead as anything may be due, with a few weeks to spare. */
export function partitionBounds(nowMs: number, settings: Pick<MaintenanceSettings, 'delayMaxMs'>): PartitionBounds {
  return {
    fromMs: nowMs - 2 * WEEK_MS,
    untilMs: nowMs + settings.delayMaxMs + 3 * WEEK_MS,
    neededUntilMs: nowMs + WEEK_MS,
  };
}

export class Maintenance {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #settings: MaintenanceSettings;
  readonly #log: Logger;
  readonly #clocks: Pick<ClockCheck, 'agree'> | null;
  readonly #summaries: Summaries;
  #cancels: readonly Cancel[] = [];
  #underWay: Promise<void> = Promise.resolve();

  /** With `clocks` nothing is deleted while they disagree. */
  constructor(
    database: Database,
    clock: Clock,
    settings: MaintenanceSettings,
    log: Logger,
    clocks: Pick<ClockCheck, 'agree'> | null = null,
  ) {
    this.#database = database;
    this.#summaries = new Summaries(database);
    this.#clock = clock;
    this.#settings = settings;
    this.#log = log;
    this.#clocks = clocks;
  }

  start(): void {
    if (this.#cancels.length > 0) return;
    const { everyMs, summarizeEveryMs } = this.#settings;
    this.#cancels = [
      this.#every(everyMs, () => this.run()),
      ...(summarizeEveryMs === undefined ? [] : [this.#every(summarizeEveryMs, () => this.#summaries.run())]),
    ];
  }

  async stop(): Promise<void> {
    for (const cancel of this.#cancels) cancel();
    this.#cancels = [];
    await this.#underWay;
  }

  #every(periodMs: number, work: () => Promise<void>): Cancel {
    return every(this.#settings.time, periodMs, () => {
      this.#underWay = this.#underWay.then(work).catch((error: unknown) => this.#failed(error));
    });
  }

  async run(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const keptFromMs = nowMs - this.#settings.retentionMs;
    const onPostponed = (partitions: readonly string[]): void =>
      this.#log.warn({ partitions }, 'partitions are locked by somebody: left to the next time');
    const made = await ensurePartitions(this.#database, partitionBounds(nowMs, this.#settings), onPostponed);
    await this.#summaries.run();
    if (this.#clocks !== null && !(await this.#clocks.agree())) {
      this.#log.error({ made }, 'the clocks of Redis, PostgreSQL and this node disagree: nothing old is deleted');
      return;
    }
    const dropped = await dropOldPartitions(this.#database, keptFromMs, onPostponed);
    const expiredKeys = await this.#forget('delete-expired-keys', nowMs);
    const oldChanges = await this.#forget('delete-old-schedule-changes', keptFromMs);
    if (made.length + dropped.length + expiredKeys + oldChanges > 0) {
      this.#log.info({ made, dropped, expiredKeys, oldChanges }, 'PostgreSQL was maintained');
    }
  }

  /** Runs a statement that forgets what is before a time, a bounded number of rows at once, until nothing is left. */
  async #forget(statement: 'delete-expired-keys' | 'delete-old-schedule-changes', beforeMs: number): Promise<number> {
    let forgotten = 0;
    for (;;) {
      const rows = await this.#database.run(statement, { beforeMs, limit: ROWS_AT_ONCE });
      forgotten += rows.length;
      if (rows.length < ROWS_AT_ONCE) return forgotten;
    }
  }

  #failed(error: unknown): void {
    const isUnavailable = error instanceof CarillonError;
    if (isUnavailable) this.#log.warn({ err: error }, 'PostgreSQL was not maintained this time');
    else this.#log.error({ err: error }, 'maintenance of PostgreSQL failed');
  }
}
