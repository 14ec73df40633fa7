// The one way to PostgreSQL: a pool, statements by file, times as milliseconds, and one error for "PostgreSQL is unavailable".

import pg from 'pg';
import { CarillonError } from '../domain/errors.js';
import { sql } from './sql.js';
import type { Statements } from './statements.js';
import type { ProcessTime } from '../domain/clock.js';
import { pause } from '../time/waiting.js';

/** Connections that are kept open when idle: opening one, and its first look at the partitions, takes tens of milliseconds on a busy machine. */
const KEPT_CONNECTIONS = 4;

const TIMESTAMPTZ = 1184;
const BIGINT = 20;

/** How the values of rows are read: times as milliseconds. */
export const types = new pg.TypeOverrides();
types.setTypeParser(TIMESTAMPTZ, (text) => new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).getTime());
types.setTypeParser(BIGINT, Number);

/**
 * How long a transaction may stand still, in milliseconds. A node that is frozen or cut off between two statements leaves its transaction
 * open, and PostgreSQL keeps its locks until the connection is known to be gone: two hours, by TCP's defaults.
 */
export interface TransactionLimits {
  /** Between two statements; then PostgreSQL ends the connection. */
  readonly idleMs: number;
  /** Waiting for a lock; then the statement fails, and the transaction is tried again. Longer than `idleMs`. */
  readonly lockMs: number;
  /** For one statement; then it fails. */
  readonly statementMs: number;
}

export interface DatabaseSettings {
  readonly url: string;
  readonly time: ProcessTime;
  /** The name by which others see these connections in pg_stat_activity; the program's when left out. */
  readonly name?: string;
  /** Of every transaction that is not said to be a long one; none when left out. */
  readonly limits?: TransactionLimits;
  readonly poolSize: number;
  /** Longest wait for a connection or a statement, in milliseconds. */
  readonly timeoutMs: number;
  /** Told of errors on idle connections; the pool replaces them by itself. */
  readonly onError: (error: Error) => void;
}

/** A statement by its file's name. */
export type StatementName = keyof Statements;
export type Params<Name extends StatementName> = Statements[Name]['params'];
export type Row<Name extends StatementName> = Statements[Name]['row'];
/** What follows the name: nothing, for a statement that takes no parameters. */
export type Given<Name extends StatementName> =
  Params<Name> extends Record<string, never> ? [] : [params: Params<Name>];

/** What runs statements: the pool, or one connection within a transaction. */
export interface Queryable {
  /** Runs <name>.sql. Throws CarillonError POSTGRES_UNAVAILABLE when PostgreSQL cannot be reached or is stopping. */
  run<Name extends StatementName>(name: Name, ...given: Given<Name>): Promise<Row<Name>[]>;
  /** Runs a statement given as text, for DDL. `timeoutMs`: when it may take longer than others. */
  text<Row extends object>(statement: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]>;
}

/**
 * Statements are sent unnamed. A named one would sometimes be planned for any parameters, which locks every week's partition and its
 * indexes (some 700 locks and 70 ms, measured) where the plan for these parameters touches one; and PgBouncer's transaction mode
 * knows no names.
 */
export class Database implements Queryable {
  /** By which it waits. */
  readonly time: ProcessTime;
  readonly #pool: pg.Pool;
  readonly #onError: (error: Error) => void;
  readonly #limits: TransactionLimits | null;

  constructor(settings: DatabaseSettings) {
    this.time = settings.time;
    this.#limits = settings.limits ?? null;
    this.#pool = new pg.Pool({
      connectionString: settings.url,
      ...(settings.name === undefined ? {} : { application_name: settings.name }),
      max: settings.poolSize,
      min: Math.min(KEPT_CONNECTIONS, settings.poolSize),
      connectionTimeoutMillis: settings.timeoutMs,
      query_timeout: settings.timeoutMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      types,
    });
    this.#onError = settings.onError;
    this.#pool.on('error', settings.onError);
  }

  async run<Name extends StatementName>(name: Name, ...given: Given<Name>): Promise<Row<Name>[]> {
    return overConflicts(this.time, () => query(this.#pool, statement(name, ...given)));
  }

  async text<Row extends object>(text: string, values: readonly unknown[] = [], timeoutMs?: number): Promise<Row[]> {
    return overConflicts(this.time, () => query(this.#pool, givenAsText<Row>(text, values, timeoutMs)));
  }

  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. May run it again from the start,
   * after another transaction got in the way (a deadlock, a lock that was held for too long).
   */
  transaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result> {
    return overConflicts(this.time, () => this.#transaction(work, beginning(this.#limits)), this.#limits !== null);
  }

  /** A transaction without limits: for changes of the schema. */
  longTransaction<Result>(work: (connection: Queryable) => Promise<Result>): Promise<Result> {
    return overConflicts(this.time, () => this.#transaction(work, beginning(null)));
  }

  async #transaction<Result>(work: (connection: Queryable) => Promise<Result>, begin: string): Promise<Result> {
    const client = await connect(this.#pool);
    const connectionState: { broken: Error | null } = { broken: null };
    // Broken between two statements: the next one fails, and nobody else is told.
    const onBroken = (error: Error): void => {
      connectionState.broken ??= error;
      this.#onError(error);
    };
    client.on('error', onBroken);
    const release = (why: Error | null = null): void => {
      client.off('error', onBroken);
      // One that is of no more use is replaced.
      client.release(why ?? undefined);
    };
    const connection: Queryable = {
      run: (name, ...given) => query(client, statement(name, ...given)),
      text: (text, values = [], timeoutMs) => query(client, givenAsText(text, values, timeoutMs)),
    };
    try {
      await query(client, { text: begin });
      const result = await work(connection);
      await query(client, { text: 'commit' });
      release();
      return result;
    } catch (error) {
      // What is away may be back elsewhere (a primary that was demoted): the pool connects anew.
      const { broken } = connectionState;
      release(broken ?? (isUnavailable(error) ? new Error('PostgreSQL was unavailable') : await rollBack(client)));
      // Ended by its limit: that says why, and not the statement that found no connection.
      throw isPastLimit(broken) ? broken : error;
    }
  }

  /** Opens the connections that are kept, ahead of work that cannot wait for it. Does not fail: whoever needs one opens it. */
  async warm(): Promise<void> {
    const looks = Array.from({ length: this.#pool.options.min ?? 0 }, () => this.run('select-dispatch', { ids: [] }));
    await Promise.allSettled(looks);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** A query whose rows are known. `rows` is never there: it says of what type they are. */
export interface TypedQuery<Row extends object> extends pg.QueryConfig {
  readonly rows?: Row;
}

function givenAsText<Row extends object>(
  text: string,
  values: readonly unknown[],
  timeoutMs: number | undefined,
): TypedQuery<Row> {
  return { text, values: [...values], ...(timeoutMs !== undefined && { query_timeout: timeoutMs }) };
}

/** A statement with its parameters, as `pg` runs it. */
export function statement<Name extends StatementName>(name: Name, ...given: Given<Name>): TypedQuery<Row<Name>> {
  const { text, parameters } = sql(name);
  const [params = {}]: readonly Readonly<Record<string, unknown>>[] = given;
  return { text, values: parameters.map((parameter) => parameter.encode(params[parameter.name])) };
}

/** Most tries of what was rolled back because of others' work. */
const MAX_TRIES = 5;
const CONFLICT_PAUSE_MS = 20;

/** Begins a transaction with its limits, in one round trip; they end with it, so that they hold behind PgBouncer as well. */
function beginning(limits: TransactionLimits | null): string {
  if (limits === null) return 'begin';
  const { idleMs, lockMs, statementMs } = limits;
  return (
    `begin; set local idle_in_transaction_session_timeout = ${idleMs}; ` +
    `set local lock_timeout = ${lockMs}; set local statement_timeout = ${statementMs}`
  );
}

/**
 * Tries again what PostgreSQL rolled back for the sake of another transaction; PostgreSQL is not unavailable then. `limited`: what stood
 * still for too long, or waited too long for another's lock, as well.
 */
async function overConflicts<Result>(time: ProcessTime, work: () => Promise<Result>, limited = false): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) && !(limited && isPastLimit(error))) throw error;
      if (tries === MAX_TRIES) throw unavailable(error as Error);
      await pause(time, CONFLICT_PAUSE_MS * tries);
    }
  }
}

/** SQLSTATE class 40: deadlock, serialization failure. */
function isConflict(error: unknown): error is Error {
  return error instanceof Error && /^40[0-9A-Z]{3}$/.test(codeOf(error));
}

/** Lock not available, and a transaction that was idle for too long: this process was frozen. */
function isPastLimit(error: unknown): boolean {
  return ['55P03', '25P03'].includes(codeOf(error));
}

/** A connection of the pool. Throws POSTGRES_UNAVAILABLE. */
export async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw databaseError(error);
  }
}

/** What stands in the way of rolling back: then the connection is of no more use. */
async function rollBack(client: pg.PoolClient): Promise<Error | null> {
  try {
    await client.query('rollback');
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function query<Row extends object>(target: pg.Pool | pg.PoolClient, config: TypedQuery<Row>): Promise<Row[]> {
  try {
    return (await target.query<Row>(config)).rows;
  } catch (error) {
    throw databaseError(error);
  }
}

/**
 * SQLSTATEs that mean "away, try again": connection, resources, operator intervention, system error, and a server that only reads, as one
 * that was demoted or whose disk is full.
 */
const AWAY_STATE = /^(?:08|53|57|58)[0-9A-Z]{3}$|^25006$/;
/** What the network says, and what the client says about its connections. */
const AWAY_NETWORK = /^(?:E(?:CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|AI_AGAIN|ADDR|MFILE|NFILE)|ERR_SSL)/;
const AWAY_TEXT = /timeout|connection|not queryable|after calling end/i;

/** Anything else is about the statement and is thrown as it is: trying the same again would fail again. */
export function databaseError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = codeOf(error);
  if (isStatementError(error)) return AWAY_STATE.test(code) ? unavailable(error) : error;
  return AWAY_NETWORK.test(code) || (code === '' && AWAY_TEXT.test(error.message)) ? unavailable(error) : error;
}

function unavailable(error: Error): CarillonError {
  return new CarillonError('POSTGRES_UNAVAILABLE', `PostgreSQL is unavailable: ${error.message}`, { cause: error });
}

/** Whether an error says that PostgreSQL is unavailable. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof CarillonError && error.code === 'POSTGRES_UNAVAILABLE';
}

/** Whether PostgreSQL answered a statement with an error. */
export function isStatementError(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && error instanceof Error && 'severity' in error;
}

/** SQLSTATE classes 22 (data) and 23 (constraints), and XX: a row that is damaged on the disk. */
const ABOUT_VALUES = /^(?:22|23|XX)/;

/** Whether it was about these values alone, so that other work of the same kind fares better. */
export function isAboutValues(error: unknown): boolean {
  return isStatementError(error) && ABOUT_VALUES.test(codeOf(error));
}

/** PostgreSQL's SQLSTATE, or the network's code; '' when there is none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
