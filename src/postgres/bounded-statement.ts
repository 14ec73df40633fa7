// One statement with a time limit, which can be canceled while it runs.
//
// It is a transaction of its own: `begin; set local statement_timeout`, the statement and `commit`, sent at once (the
// connection must be one with `pipeline`). That is one round trip, and leaves nothing behind in the connection, so that
// PgBouncer may stand between. The server's timeout ends what takes too long. What it does not end in time, and
// whatever runs when somebody cancels, is ended by a message of ours.

import type pg from 'pg';
import { cancelStatement } from './cancel-statement.js';
import { codeOf, databaseError, type TypedQuery } from './database.js';
import type { ProcessTime } from '../domain/clock.js';

/** How long after its timeout the server may end a statement before it is told to. */
const SERVER_LATE_MS = 250;
/** How long a canceled statement may take to end before its connection is closed. */
const CANCELED_MS = 1_000;
const QUERY_CANCELED = '57014';

/** The time for a statement was over before its answer. */
export class BudgetSpent extends Error {}

/** A promise that is there to be rejected, if anybody still waits for it. */
export function rejection(): { promise: Promise<never>; reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<never>((_resolve, onReject) => {
    reject = onReject;
  });
  promise.catch(() => undefined);
  return { promise, reject };
}

export class StatementUnderWay<Row extends object> {
  /** Rejects with BudgetSpent when the server ended it for its time, or was told to cancel it. */
  readonly rows: Promise<Row[]>;
  readonly #client: pg.Client;
  readonly #time: ProcessTime;
  readonly #givenUp = rejection();
  #broken: Error | null = null;
  #isCanceled = false;

  /** Sends it. `untilMs` is by the process's time. */
  constructor(client: pg.Client, query: TypedQuery<Row>, untilMs: number, time: ProcessTime) {
    this.#client = client;
    this.#time = time;
    this.rows = this.#run(query, Math.max(1, Math.ceil(untilMs - time.monotonicMs())));
  }

  /** Why the connection must not be used again; null when it may. */
  get broken(): Error | null {
    return this.#broken;
  }

  /** Ends it in the server. `rows` rejects when it has ended there, at the latest after a moment. */
  cancel(): void {
    if (this.#isCanceled) return;
    this.#isCanceled = true;
    // The message may arrive when the statement has ended by itself: it must not hit the connection's next one.
    this.#broken = new Error('its statement was canceled');
    const cancelLimit = this.#time.after(CANCELED_MS, () => {
      // A server that does not answer: the client would wait with its end for the statements that it has sent.
      this.#client.connection.stream.destroy();
      this.#givenUp.reject(new BudgetSpent());
    });
    void Promise.allSettled([this.rows, cancelStatement(this.#client, this.#time)]).then(cancelLimit);
  }

  async #run(query: TypedQuery<Row>, leftMs: number): Promise<Row[]> {
    const cancelLate = this.#time.after(leftMs + SERVER_LATE_MS, () => this.cancel());
    const begin = this.#client.query(`begin transaction read only; set local statement_timeout = ${leftMs}`);
    const found = this.#client.query<Row>(query);
    const commit = this.#client.query('commit');
    const all = Promise.allSettled([begin, found, commit]);
    try {
      await Promise.race([all, this.#givenUp.promise]);
      await begin;
      const { rows } = await found;
      await commit;
      return rows;
    } catch (error) {
      if (error instanceof BudgetSpent) throw error;
      if (codeOf(error) === QUERY_CANCELED) throw new BudgetSpent();
      // The commit ended the transaction, whatever failed in it; if it did not get through, the connection is lost.
      await commit.catch((cause: unknown) => (this.#broken ??= new Error('the connection is lost', { cause })));
      throw databaseError(error);
    } finally {
      cancelLate();
    }
  }
}
