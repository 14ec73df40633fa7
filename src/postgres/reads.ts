// Reads for those who ask through the API: on connections of their own, each with a time budget, and canceled in
// PostgreSQL when the budget is spent or nobody waits for the answer any more. So no list, however much it would have
// to look at, takes anything from the work.

import pg from 'pg';
import { CarillonError } from '../domain/errors.js';
import { BudgetSpent, rejection, StatementUnderWay } from './bounded-statement.js';
import {
  connect,
  statement,
  types,
  type Given,
  type Queryable,
  type Row,
  type StatementName,
  type TypedQuery,
} from './database.js';
import { ReadTurns } from './read-turns.js';
import type { ProcessTime } from '../domain/clock.js';

export interface ReadSettings {
  readonly time: ProcessTime;
  readonly url: string;
  readonly connections: number;
  /** Longest wait for a new connection. */
  readonly connectMs: number;
  /** How long one read may take, all its statements together. */
  readonly budgetMs: number;
  /** Most lists of one tenant that are read at once. */
  readonly tenantMax: number;
  /** How long a list waits for its turn. */
  readonly waitMs: number;
  /** Told of errors on idle connections; the pool replaces them by itself. */
  readonly onError: (error: Error) => void;
}

/** Who asks, and what makes the answer smaller. */
export interface ReadRequest {
  readonly tenantId: number;
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
  /** Parameters by which it can be narrowed, as a text for people; '' when there are none. */
  readonly narrowBy: string;
}

/** This share of the budget is for looking; the rest is for reading what was found. */
const WALK_SHARE = 0.75;

export class ReadPool {
  readonly #pool: pg.Pool;
  readonly #settings: ReadSettings;
  readonly #turns: ReadTurns;
  readonly #underWay = new Set<StatementUnderWay<object>>();

  constructor(settings: ReadSettings) {
    this.#settings = settings;
    const { time, connections, tenantMax, waitMs } = settings;
    this.#pool = new pg.Pool({
      connectionString: settings.url,
      max: connections,
      min: 1,
      connectionTimeoutMillis: settings.connectMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      pipeline: true,
      types,
    });
    this.#pool.on('error', settings.onError);
    // One connection stays free of lists, for reads of one thing.
    const all = Math.max(1, connections - 1);
    this.#turns = new ReadTurns({ time, all, each: Math.min(tenantMax, all), waitMs });
  }

  /**
   * Runs `work`, which reads a list, when it is the tenant's turn. Throws TOO_MANY_READS when that takes too long,
   * READ_TOO_SLOW when the budget is spent before there is anything to answer, CLIENT_GONE when nobody waits any more.
   */
  async list<Result>(request: ReadRequest, work: (reads: BoundedReads) => Promise<Result>): Promise<Result> {
    const end = await this.#turns.take(request.tenantId, request.signal).catch((error: unknown) => {
      throw request.signal.aborted ? clientGone() : error;
    });
    try {
      return await work(this.#begin(request));
    } finally {
      end();
    }
  }

  /** Runs `work`, which reads a few rows by their keys: at once, within the same budget. */
  async one<Result>(request: ReadRequest, work: (reads: BoundedReads) => Promise<Result>): Promise<Result> {
    return await work(this.#begin(request));
  }

  /** Cancels what is under way and ends the connections. */
  async close(): Promise<void> {
    for (const underWay of this.#underWay) underWay.cancel();
    await this.#pool.end();
  }

  #begin(request: ReadRequest): BoundedReads {
    return new BoundedReads(this.#settings, request, (query, untilMs) => this.#query(query, untilMs, request.signal));
  }

  async #query<Found extends object>(query: TypedQuery<Found>, untilMs: number, signal: AbortSignal): Promise<Found[]> {
    const client = await this.#connect(untilMs, signal);
    client.on('error', this.#settings.onError);
    const underWay = new StatementUnderWay(client, query, untilMs, this.#settings.time);
    const cancel = (): void => underWay.cancel();
    this.#underWay.add(underWay);
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    try {
      return await underWay.rows;
    } catch (error) {
      throw signal.aborted ? clientGone() : error;
    } finally {
      this.#underWay.delete(underWay);
      signal.removeEventListener('abort', cancel);
      client.off('error', this.#settings.onError);
      client.release(underWay.broken ?? undefined);
    }
  }

  /** A connection, unless the time is over or the client gone before there is one. */
  async #connect(untilMs: number, signal: AbortSignal): Promise<pg.PoolClient> {
    if (signal.aborted) throw clientGone();
    const leftMs = untilMs - this.#settings.time.monotonicMs();
    if (leftMs <= 0) throw new BudgetSpent();
    const coming = connect(this.#pool);
    const { promise, reject } = rejection();
    const leave = (): void => reject(clientGone());
    const cancelTimer = this.#settings.time.after(leftMs, () => reject(new BudgetSpent()));
    signal.addEventListener('abort', leave);
    try {
      return await Promise.race([coming, promise]);
    } catch (error) {
      void coming.then((client) => client.release()).catch(() => undefined);
      throw error;
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', leave);
    }
  }
}

function clientGone(): CarillonError {
  return new CarillonError('CLIENT_GONE', 'the client left before its answer');
}

/** Runs a query until a time. */
type BoundedQuery = <Found extends object>(query: TypedQuery<Found>, untilMs: number) => Promise<Found[]>;

/** The reads of one request, one statement at a time, as long as its budget lasts. */
export class BoundedReads implements Queryable {
  readonly #time: ProcessTime;
  readonly #budgetMs: number;
  readonly #request: ReadRequest;
  readonly #query: BoundedQuery;
  readonly #untilMs: number;
  readonly #walkUntilMs: number;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ time, budgetMs }: Pick<ReadSettings, 'time' | 'budgetMs'>, request: ReadRequest, query: BoundedQuery) {
    this.#time = time;
    this.#budgetMs = budgetMs;
    this.#request = request;
    this.#query = query;
    const nowMs = time.monotonicMs();
    this.#untilMs = nowMs + budgetMs;
    this.#walkUntilMs = nowMs + budgetMs * WALK_SHARE;
  }

  async run<Name extends StatementName>(name: Name, ...given: Given<Name>): Promise<Row<Name>[]> {
    return await this.#bounded(statement(name, ...given), this.#untilMs);
  }

  async text<Found extends object>(text: string, values: readonly unknown[] = []): Promise<Found[]> {
    return await this.#bounded<Found>({ text, values: [...values] }, this.#untilMs);
  }

  /** Whether a walk has to end where it is, with a cursor. */
  get isWalkOver(): boolean {
    return this.#time.monotonicMs() >= this.#walkUntilMs;
  }

  /**
   * Runs a step of a walk. Null when the time for walking (or for this step, `withinMs`) was over before it was done: what was found
   * before is still to be read.
   */
  async step<Result>(work: (table: Queryable) => Promise<Result>, withinMs = Infinity): Promise<Result | null> {
    const untilMs = Math.min(this.#walkUntilMs, this.#time.monotonicMs() + withinMs);
    try {
      return await work({
        run: (name, ...given) => this.#once(statement(name, ...given), untilMs),
        text: (text, values = []) => this.#once({ text, values: [...values] }, untilMs),
      });
    } catch (error) {
      if (error instanceof BudgetSpent) return null;
      throw error;
    }
  }

  /** What is thrown when the budget was spent and there is nothing to answer. */
  tooSlow(): CarillonError {
    const { narrowBy } = this.#request;
    const narrower = narrowBy === '' ? '' : `; narrow it by ${narrowBy}`;
    return new CarillonError(
      'READ_TOO_SLOW',
      `this could not be read within ${this.#budgetMs} ms (CARILLON_READ_BUDGET_MS)${narrower}, ` +
        'or send it again when there is less to do',
    );
  }

  async #bounded<Found extends object>(query: TypedQuery<Found>, untilMs: number): Promise<Found[]> {
    try {
      return await this.#once(query, untilMs);
    } catch (error) {
      throw error instanceof BudgetSpent ? this.tooSlow() : error;
    }
  }

  #once<Found extends object>(query: TypedQuery<Found>, untilMs: number): Promise<Found[]> {
    const rows = this.#last.then(() => this.#query(query, untilMs));
    this.#last = rows.catch(() => undefined);
    return rows;
  }
}
