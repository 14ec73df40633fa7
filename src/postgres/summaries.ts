// Summaries of the BRIN indexes of the weeks: made by us, not by `autosummarize`, for which PostgreSQL's log gets a line for each range that the
// queue of its autovacuum has no room for.

import { codeOf, type Database } from './database.js';

/** Below `deadlock_timeout` (1 s): a vacuum is canceled for whoever waits that long, and it summarizes by itself. */
const LOCK_WAIT = '200ms';
const LOCK_NOT_AVAILABLE = '55P03';
const UNDEFINED_TABLE = '42P01';

/** Summarizes the ranges that were filled since its last run. */
export class Summaries {
  readonly #database: Database;
  /** Sizes of the tables when their indexes were summarized last. */
  #summarized = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Leaves what somebody has locked to the next run. Any number of nodes may do it at once. */
  async run(): Promise<void> {
    const indexes = await this.#database.run('select-summaries');
    const summarized = new Map<string, number>();
    for (const { name, bytes, automatic } of indexes) {
      if (automatic) await this.#unlessLocked(`alter index ${name} set (autosummarize = off)`);
      const before = this.#summarized.get(name) ?? 0;
      const isDone = bytes === before || (await this.#unlessLocked(`select brin_summarize_new_values('${name}')`));
      summarized.set(name, isDone ? bytes : before);
    }
    this.#summarized = summarized;
  }

  /** False when somebody holds a lock that is in the way, or the week was dropped meanwhile. */
  async #unlessLocked(statement: string): Promise<boolean> {
    try {
      await this.#database.longTransaction(async (connection) => {
        await connection.text(`set local lock_timeout = '${LOCK_WAIT}'`);
        await connection.text(statement);
      });
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === LOCK_NOT_AVAILABLE || code === UNDEFINED_TABLE) return false;
      throw error;
    }
  }
}
