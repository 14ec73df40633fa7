// The transactions of a simulated PostgreSQL: rows that they lock, writes that nobody sees before the commit, and the limits that end those
// that stand still.

import type { Cancel } from '../../src/domain/clock.js';
import type { TransactionLimits } from '../../src/postgres/database.js';
import { Later, type Link } from './link.js';
import { type Changes, type Tables, View } from './tables.js';
import type { World } from './world.js';

/** An error as PostgreSQL answers it. */
export class SqlError extends Error {
  constructor(
    readonly code: string,
    text: string,
  ) {
    super(text);
  }
}

/** What a statement does to a row until its transaction ends: others may read it under a share of it, and nothing else. */
export interface RowLock {
  readonly row: string;
  readonly shared: boolean;
}

/** By the limit of its standing still, or by another connection. */
const ENDED_FROM_OUTSIDE = new Set(['25P03', '57P01']);

export class Transaction {
  readonly locks = new Map<string, 'shared' | 'exclusive'>();
  /** What it sees, and what it changed. */
  readonly view: View;
  /** Since when it stands still; null while a statement runs or waits. */
  idleSinceMs: number | null;
  /** Why it is over, if its connection has not heard of that yet. */
  ended: SqlError | null = null;
  cancelIdle: Cancel = () => undefined;

  constructor(
    readonly link: Link,
    readonly connection: number,
    { nowMs, tables }: { nowMs: number; tables: Tables },
  ) {
    this.idleSinceMs = nowMs;
    this.view = new View(tables);
  }
}

interface Waiting {
  readonly transaction: Transaction | null;
  readonly locks: () => readonly RowLock[];
  readonly go: () => void;
}

export class Transactions {
  readonly #world: World;
  readonly #limits: TransactionLimits;
  readonly #tables: Tables;
  readonly #open = new Set<Transaction>();
  #waiting: Waiting[] = [];
  /** Those that stood still until they were ended. */
  abandoned = 0;
  /** Told when a transaction begins to stand still. */
  onStill: (transaction: Transaction) => void = () => undefined;

  /** Told what each transaction committed, those of a single statement among them. */
  onCommit: (changes: Changes) => void = () => undefined;

  constructor(world: World, limits: TransactionLimits, tables: Tables) {
    this.#world = world;
    this.#limits = limits;
    this.#tables = tables;
  }

  begin(link: Link): Transaction {
    const transaction = new Transaction(link, link.connection, { nowMs: this.#world.nowMs, tables: this.#tables });
    this.#open.add(transaction);
    this.#standStill(transaction);
    return transaction;
  }

  /** Runs a statement, within a transaction or by itself, as soon as the rows that it locks are free. */
  run<Rows>(transaction: Transaction | null, locks: () => readonly RowLock[], work: () => Rows): Rows | Later<Rows> {
    if (transaction !== null) {
      if (transaction.ended !== null) throw transaction.ended;
      transaction.cancelIdle();
      transaction.idleSinceMs = null;
    }
    const finish = (): Rows => {
      for (const { row, shared } of transaction === null ? [] : locks()) {
        if (transaction?.locks.get(row) !== 'exclusive') transaction?.locks.set(row, shared ? 'shared' : 'exclusive');
      }
      const rows = work();
      if (transaction !== null) this.#standStill(transaction);
      return rows;
    };
    if (!this.isLocked(transaction, locks())) return finish();
    return new Later((resolve, reject) =>
      this.#wait(transaction, locks, () => attempt(finish, resolve, reject), reject),
    );
  }

  #wait(
    transaction: Transaction | null,
    locks: () => readonly RowLock[],
    go: () => void,
    fail: (error: Error) => void,
  ): void {
    const waiting: Waiting = {
      transaction,
      locks,
      go: () => {
        cancel();
        go();
      },
    };
    const giveUp = (): void => {
      if (!this.#waiting.includes(waiting)) return;
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      const error = new SqlError('55P03', 'canceling statement due to lock timeout');
      if (transaction !== null) this.end(transaction, error);
      fail(error);
    };
    // A statement by itself has no limits.
    const cancel = transaction === null ? () => undefined : this.#world.after(this.#limits.lockMs, giveUp);
    this.#waiting.push(waiting);
  }

  /** Whether another transaction than this one has one of the rows. */
  isLocked(transaction: Transaction | null, locks: readonly RowLock[]): boolean {
    return [...this.#open].some(
      (other) =>
        other !== transaction &&
        locks.some(({ row, shared }) => {
          const held = other.locks.get(row);
          return held !== undefined && !(shared && held === 'shared');
        }),
    );
  }

  commit(transaction: Transaction): void {
    if (transaction.ended !== null) throw transaction.ended;
    this.onCommit(transaction.view.commit(this.#world.nowMs));
    this.end(transaction, new SqlError('25P01', 'there is no transaction in progress'));
  }

  /** Ends it without a trace, unless it was committed before. */
  end(transaction: Transaction, why: SqlError): void {
    if (!this.#open.delete(transaction)) return;
    transaction.cancelIdle();
    transaction.ended = why;
    if (ENDED_FROM_OUTSIDE.has(why.code)) this.abandoned += 1;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) {
      if (one.transaction?.ended != null) continue;
      if (this.isLocked(one.transaction, one.locks())) this.#waiting.push(one);
      else one.go();
    }
  }

  /** Those of these processes that have stood still for longer than `idleMs`. */
  standingStill(processes: ReadonlySet<string>, idleMs: number): Transaction[] {
    return [...this.#open].filter(
      ({ link, idleSinceMs }) =>
        processes.has(link.process.id) && idleSinceMs !== null && this.#world.nowMs - idleSinceMs > idleMs,
    );
  }

  ofLink(link: Link): Transaction[] {
    return [...this.#open].filter((transaction) => transaction.link === link);
  }

  get all(): Transaction[] {
    return [...this.#open];
  }

  #standStill(transaction: Transaction): void {
    transaction.idleSinceMs = this.#world.nowMs;
    transaction.cancelIdle = this.#world.after(this.#limits.idleMs, () => {
      this.#world.note(`table ends a transaction of ${transaction.link.process.id} that stood still`);
      this.end(transaction, new SqlError('25P03', 'terminating connection due to idle-in-transaction timeout'));
    });
    this.onStill(transaction);
  }
}

function attempt<Rows>(work: () => Rows, resolve: (rows: Rows) => void, reject: (error: Error) => void): void {
  try {
    resolve(work());
  } catch (error) {
    reject(error as Error);
  }
}
