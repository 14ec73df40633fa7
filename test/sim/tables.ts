// The rows of a simulated PostgreSQL, and how a statement sees them: what was committed, beneath what its own
// transaction changed.

import type { DispatchRow } from '../../src/postgres/messages/message-columns.js';
import type { ScheduleRow } from '../../src/postgres/schedules/schedule-row.js';

export interface ShardRow {
  readonly shard: number;
  readonly epoch: number;
  readonly node: string | null;
}

export type MessageRow = Readonly<DispatchRow> & {
  readonly reason: string | null;
  readonly in_dlq: boolean;
  readonly covers_until: number | null;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly last_headers: unknown;
  readonly last_body: Buffer | null;
  readonly node: string | null;
  /** For the checks: how often it came to an end, and (by the true time) when it did first. */
  readonly finished: number;
  readonly endedAtMs: number;
};

export interface KeyRow {
  readonly tenant_id: number;
  readonly scope: string;
  readonly key: string;
  readonly message_id: string;
  readonly created_at: number;
  readonly expires_at: number | null;
}

export interface ChangeRow {
  readonly tenant_id: number;
  readonly schedule_id: string;
  readonly at: number;
  readonly generation: number;
  readonly change: string;
  readonly detail: unknown;
}

export interface AttemptRow {
  readonly message_id: string;
  readonly attempt: number;
  readonly tenant_id: number;
  readonly started_at: number;
  readonly finished_at: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly headers: unknown;
  readonly body: Buffer | null;
  readonly next_attempt_at: number | null;
  readonly node: string | null;
}

/** Rows by their primary keys. Rows are never changed, only replaced. */
export interface Tables {
  readonly shards: Map<string, ShardRow>;
  readonly messages: Map<string, MessageRow>;
  readonly schedules: Map<string, ScheduleRow>;
  readonly idempotency_keys: Map<string, KeyRow>;
  readonly schedule_changes: Map<string, ChangeRow>;
  readonly attempts: Map<string, AttemptRow>;
}

export type TableName = keyof Tables;
type Row<Name extends TableName> = Tables[Name] extends Map<string, infer Value> ? Value : never;

export function noTables(): Tables {
  return {
    shards: new Map(),
    messages: new Map(),
    schedules: new Map(),
    idempotency_keys: new Map(),
    schedule_changes: new Map(),
    attempts: new Map(),
  };
}

/** What the statements of one transaction read and write. */
export class View {
  readonly #committed: Tables;
  /** What the transaction changed: null for a row that it deleted. */
  readonly #own: { readonly [Name in TableName]: Map<string, Row<Name> | null> } = noTables();

  constructor(committed: Tables) {
    this.#committed = committed;
  }

  get<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    const own = this.#own[table].get(key);
    return own === undefined ? (this.#committed[table].get(key) as Row<Name> | undefined) : (own ?? undefined);
  }

  put<Name extends TableName>(table: Name, key: string, row: Row<Name>): void {
    this.#own[table].set(key, row);
  }

  remove(table: TableName, key: string): void {
    this.#own[table].set(key, null);
  }

  /** All rows, in no order that means anything. */
  all<Name extends TableName>(table: Name): Row<Name>[] {
    const committed = this.#committed[table] as Map<string, Row<Name>>;
    const own = this.#own[table];
    if (own.size === 0) return [...committed.values()];
    const untouched = [...committed].flatMap(([key, row]) => (own.has(key) ? [] : [row]));
    return [...untouched, ...[...own.values()].filter((row) => row !== null)];
  }

  /**
   * Makes everybody see what the transaction changed, and returns that. `nowMs`: the true time, since when messages
   * have ended for others.
   */
  commit(nowMs: number): Changes {
    for (const [key, row] of this.#own.messages) {
      const before = this.#committed.messages.get(key);
      const hasEnded = row !== null && before !== undefined && row.endedAtMs !== before.endedAtMs;
      if (hasEnded) this.#own.messages.set(key, { ...row, endedAtMs: nowMs });
    }
    const changes = {
      messages: this.#changesOf('messages'),
      schedules: this.#changesOf('schedules'),
      logged: [...this.#own.schedule_changes.values()].filter((row) => row !== null),
    };
    for (const table of Object.keys(this.#own) as TableName[]) {
      const committed: Map<string, unknown> = this.#committed[table];
      for (const [key, row] of this.#own[table]) {
        if (row === null) committed.delete(key);
        else committed.set(key, row);
      }
    }
    return changes;
  }

  #changesOf<Name extends TableName>(table: Name): Change<Row<Name>>[] {
    const committed = this.#committed[table] as Map<string, Row<Name>>;
    const own = this.#own[table] as Map<string, Row<Name> | null>;
    return [...own].map(([key, after]) => ({ before: committed.get(key) ?? null, after }));
  }
}

/** A row that a transaction made (from null), replaced, or deleted (to null). */
export interface Change<Of> {
  readonly before: Of | null;
  readonly after: Of | null;
}

/** What the checks look at of what a transaction committed. */
export interface Changes {
  readonly messages: readonly Change<MessageRow>[];
  readonly schedules: readonly Change<ScheduleRow>[];
  /** Lines of the schedules' change logs. */
  readonly logged: readonly ChangeRow[];
}

/** The primary keys as they name rows here. */
export function scheduleKey(tenantId: number, id: string): string {
  return `${tenantId}\n${id}`;
}

export function keyKey(tenantId: number, scope: string, key: string): string {
  return `${tenantId}\n${scope}\n${key}`;
}

/** A time as a timestamptz(3) keeps it: what is less than a millisecond is rounded up before it is sent. */
export function timeOf(timeMs: number): number {
  return Math.ceil(timeMs);
}

export function timeOrNull(timeMs: number | null): number | null {
  return timeMs === null ? null : timeOf(timeMs);
}

type RowOf<Columns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends readonly (infer Cell)[] ? Cell : never;
};

/** Parameters that are one array a column, as rows. */
export function rowsOf<Columns extends Readonly<Record<string, readonly unknown[]>>>(
  columns: Columns,
): RowOf<Columns>[] {
  const names = Object.keys(columns);
  const length = columns[names[0] ?? '']?.length ?? 0;
  return Array.from(
    { length },
    (_, row) => Object.fromEntries(names.map((name) => [name, columns[name]?.[row]])) as RowOf<Columns>,
  );
}

/** Some columns of a row, or of what was given for one. */
export function picked<Of extends object, Name extends keyof Of>(row: Of, names: readonly Name[]): Pick<Of, Name> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Of, Name>;
}
