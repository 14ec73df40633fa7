// The records of occurrences that a change of their schedule takes away, written in the transaction of the change.

import { occurrencesTakenBy, type TakingChange } from '../../domain/occurrence.js';
import type { NextState } from '../../domain/schedule-change.js';
import type { Schedule } from '../../domain/schedule.js';
import type { Database, Queryable } from '../database.js';
import { messageColumns } from '../messages/message-columns.js';
import { withPartitions } from '../partitions.js';

/** Most records of one transaction, however many schedules it changes. */
const MAX_ROWS = 2_000;
/** Most records for each schedule, where a transaction changes few. */
const MAX_ROWS_EACH = 200;

/** A schedule that is changed: as it was, and as it will be (null: it is deleted). */
export interface TakenSchedule {
  readonly existing: Schedule;
  readonly change: TakingChange;
  readonly next: NextState | null;
}

/** What the changes of one transaction took away. */
export class TakenOccurrences {
  readonly #nowMs: number;
  #dueTimesMs: number[] = [];
  #reasons: string[] = [];

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  /** The reasons on the records. */
  get reasons(): readonly string[] {
    return this.#reasons;
  }

  /** Runs changes in one transaction, and once more after making the partitions that its records need. */
  transaction<Result>(database: Database, change: (connection: Queryable) => Promise<Result>): Promise<Result> {
    return withPartitions(
      database,
      () => this.#dueTimesMs,
      () =>
        database.transaction((connection) => {
          this.#dueTimesMs = [];
          this.#reasons = [];
          return change(connection);
        }),
    );
  }

  /** Records the occurrences that are due of schedules whose rows this transaction holds. */
  async record(connection: Queryable, schedules: readonly TakenSchedule[]): Promise<void> {
    const maxRows = Math.max(1, Math.min(MAX_ROWS_EACH, Math.floor(MAX_ROWS / Math.max(1, schedules.length))));
    const taken = schedules.flatMap(({ existing, change, next }) =>
      occurrencesTakenBy(change, existing, next, this.#nowMs, maxRows),
    );
    if (taken.length === 0) return;
    this.#dueTimesMs = taken.map(({ message }) => message.dueAtMs);
    this.#reasons = taken.flatMap(({ skipped }) => skipped?.reason ?? []);
    await connection.run('insert-messages', messageColumns(taken));
  }
}
