// A simulated table: epochs and messages, and what our statements (src/postgres/sql) do to them, by the statements' names.

import type { DispatchRow } from '../../src/postgres/messages/message-columns.js';
import type { TransactionLimits } from '../../src/postgres/database.js';
import type { Later, Link } from './link.js';
import type { Caller } from './redis-server.js';
import { Server } from './server.js';
import { type RowLock, SqlError, type Transaction, Transactions } from './postgres-transactions.js';
import type { World } from './world.js';

interface ShardEpoch {
  epoch: number;
  node: string | null;
}

export type MessageRow = DispatchRow & {
  /** How often it came to an end, and when it did first. */
  finished: number;
  endedAtMs: number;
  /** Of a canceled one: whether that was confirmed. */
  confirmed: boolean;
};

type Values = readonly unknown[];

export class PostgresServer extends Server {
  readonly shards: ShardEpoch[];
  readonly messages = new Map<string, MessageRow>();
  readonly transactions: Transactions;
  /** Changed by those who want to know what a wrong authority does. */
  readonly statements: Record<string, (values: Values) => object[]>;
  /** Told of messages that are read to be sent. */
  onRead: (ids: readonly string[], by: Caller) => void = () => undefined;
  /** Told of each grant. */
  onGrant: (shard: number, from: string | null, to: string) => void = () => undefined;

  /** Whether a grant leaves out what others have locked, as grant-epochs.sql does. */
  skipsLocked = true;
  skippedGrants = 0;

  constructor(world: World, shards: number, limits: TransactionLimits) {
    super(world, 'table');
    this.transactions = new Transactions(world, limits);
    this.shards = Array.from({ length: shards }, () => ({ epoch: 0, node: null }));
    this.statements = {
      'grant-epochs': ([node, shards]) =>
        (shards as number[])
          .filter((shard) => !this.#skips(shard))
          .map((shard) => this.#raise(shard, this.#of(shard).epoch + 1, node as string)),
      'fire-schedules': ([shards, epochs]) =>
        (shards as number[]).flatMap((shard, index) =>
          this.#of(shard).epoch === (epochs as number[])[index] ? [{ shard, tenant_id: null, id: null }] : [],
        ),
      'end-abandoned': ([shards, idleMs]) => this.#endAbandoned(shards as number[], idleMs as number),
      'renew-epochs': ([node, shards, held]) =>
        (shards as number[]).flatMap((shard, index) => {
          const { epoch, node: owner } = this.#of(shard);
          const isHeld = owner === node && epoch >= ((held as number[])[index] ?? 0);
          return isHeld ? [this.#raise(shard, epoch + 1, owner)] : [];
        }),
      'overtake-epochs': ([node, shards, stored]) =>
        (shards as number[]).flatMap((shard, index) => {
          const { epoch, node: owner } = this.#of(shard);
          if (owner !== node) return [];
          return [this.#raise(shard, Math.max(epoch, (stored as number[])[index] ?? 0) + 1, owner)];
        }),
      'select-overtaken-shards': ([shards, held]) =>
        (shards as number[]).flatMap((shard, index) =>
          this.#of(shard).epoch > ((held as number[])[index] ?? 0) ? [{ shard }] : [],
        ),
      'insert-messages': (values) => this.#insertMessages(values),
      'insert-new-messages': (values) => this.#insertMessages(values),
      'cancel-messages': ([, ids]) => this.#canceled(ids, 'pending', (row) => this.#cancel(row)),
      'select-unconfirmed-cancels': ([, ids]) => this.#canceled(ids, 'canceled', () => undefined),
      'confirm-cancels': ([, ids]) => this.#canceled(ids, 'canceled', (row) => (row.confirmed = true)),
      'select-dispatch': ([ids]) => (ids as string[]).flatMap((id) => copyOf(this.messages.get(id))),
      'record-outcomes': (values) => this.#recordOutcomes(values),
      'select-messages-to-promote': ([shard, fromId, untilId, horizon, limit]) =>
        this.#pending(shard)
          .filter(({ id }) => id >= (fromId as string) && id < (untilId as string))
          .filter(({ next_attempt_at }) => next_attempt_at < timeOf(horizon))
          .slice(0, limit as number),
      'select-messages-to-rescue': ([shard, afterId, untilId, overdue, createdBefore, limit]) =>
        this.#pending(shard)
          .filter(({ id }) => id > (afterId as string) && id < (untilId as string))
          .filter((row) => row.next_attempt_at <= timeOf(overdue) && row.created_at <= timeOf(createdBefore))
          .slice(0, limit as number),
      'select-shards': () => this.shards.map((row, shard) => ({ shard, ...row })),
      'select-signing-keys': () => [{ current: 'sig_key', next: 'sig_next' }],
      // Nothing of this is simulated.
      'select-schedules-to-promote': () => [],
      'release-held': () => [],
      'insert-attempts': () => [],
    };
  }

  /** Runs a statement, by itself where no transaction is given: at once, or as soon as the rows that it locks are free. */
  run(name: string, values: Values, by: Caller, transaction: Transaction | null = null): object[] | Later<object[]> {
    const statement = this.statements[name];
    if (statement === undefined) throw new Error(`the simulation has no model of ${name}.sql`);
    const locks = this.#locksOf(name, values);
    return this.transactions.run(transaction, locks, () => {
      if (name === 'select-dispatch') this.onRead(values[0] as string[], by);
      return transaction === null ? statement(values) : this.#staged(transaction, locks, () => statement(values));
    });
  }

  /** A process that ended: its kernel closes its connections. */
  forget(link: Link): void {
    for (const transaction of this.transactions.ofLink(link)) this.transactions.end(transaction, CONNECTION_LOST);
    this.links.delete(link);
  }

  /** One in two is half open: PostgreSQL is not told, and the transaction ends by its limit. */
  override lostConnection(link: Link): void {
    if (this.isUp && this.world.random.happens(0.5)) return;
    for (const transaction of this.transactions.ofLink(link)) this.transactions.end(transaction, CONNECTION_LOST);
  }

  override kill(): void {
    for (const transaction of this.transactions.all) this.transactions.end(transaction, CONNECTION_LOST);
    super.kill();
  }

  #skips(shard: number): boolean {
    const isLocked = this.transactions.isLocked(null, [shardLock(shard)]);
    if (isLocked) this.skippedGrants += 1;
    return isLocked;
  }

  #locksOf(name: string, values: Values): RowLock[] {
    const isOwn = (shard: number, index: number): boolean => this.#of(shard).epoch === (values[1] as number[])[index];
    switch (name) {
      case 'grant-epochs':
        return this.skipsLocked ? [] : (values[1] as number[]).map(shardLock);
      case 'renew-epochs':
      case 'overtake-epochs':
        return (values[1] as number[]).map(shardLock);
      case 'fire-schedules':
        return (values[0] as number[]).filter(isOwn).map((shard) => ({ ...shardLock(shard), shared: true }));
      case 'record-outcomes':
        return (values[0] as string[]).map(messageLock);
      case 'cancel-messages':
      case 'confirm-cancels':
        return (values[1] as string[]).map(messageLock);
      default:
        return [];
    }
  }

  /** What a statement changes within a transaction is seen by others when that is committed. */
  #staged(transaction: Transaction, locks: readonly RowLock[], statement: () => object[]): object[] {
    const { messages, world } = this;
    const ids = locks.map(({ row }) => row.replace(/^message /, ''));
    const rows = ids.flatMap((id) => messages.get(id) ?? []);
    const before = rows.map((row) => ({ ...row }));
    const known = messages.size;
    const result = statement();
    rows.forEach((row, index) => {
      const after = { ...row };
      Object.assign(row, before[index]);
      transaction.writes.push(() => {
        if (after.endedAtMs !== row.endedAtMs) after.endedAtMs = world.nowMs;
        Object.assign(row, after);
      });
    });
    // A map keeps the order in which rows came: those that came last are new.
    const inserted = [...messages].slice(known);
    for (const [id] of inserted) messages.delete(id);
    transaction.writes.push(() => inserted.forEach(([id, row]) => messages.set(id, row)));
    return result;
  }

  #endAbandoned(shards: readonly number[], idleMs: number): object[] {
    const former = new Set(shards.flatMap((shard) => this.#of(shard).node ?? []));
    return this.transactions.standingStill(former, idleMs).map((transaction) => {
      const { id } = transaction.link.process;
      const stoodMs = this.world.nowMs - (transaction.idleSinceMs ?? 0);
      this.world.note(`table is told to end a transaction of ${id}`);
      this.transactions.end(transaction, new SqlError('57P01', 'terminating connection due to administrator command'));
      return { name: `carillon ${id}`, idle_ms: Math.round(stoodMs), ended: true };
    });
  }

  #of(shard: number): ShardEpoch {
    const row = this.shards[shard];
    if (row === undefined) throw new Error(`there is no shard ${shard}`);
    return row;
  }

  #raise(shard: number, epoch: number, node: string | null): object {
    this.onGrant(shard, this.#of(shard).node, node ?? '');
    this.shards[shard] = { epoch, node };
    this.world.note(`table grants ${shard} to ${node ?? ''} as ${epoch}`);
    return { shard, epoch };
  }

  #pending(shard: unknown): MessageRow[] {
    return [...this.messages.values()]
      .filter((row) => row.shard === shard && row.state === 'pending')
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Does something with messages of a state, of canceled ones with those that were not confirmed, and returns them as they are then. */
  #canceled(ids: unknown, state: string, change: (row: MessageRow) => unknown): object[] {
    return (ids as string[]).flatMap((id) => {
      const row = this.messages.get(id);
      if (row?.state !== state || row.confirmed) return [];
      change(row);
      return [{ ...row, body_bytes: row.body.length }];
    });
  }

  #cancel(row: MessageRow): void {
    this.world.note(`table cancels ${row.id.slice(-6)}`);
    row.state = 'canceled';
    row.finished += 1;
  }

  /** The columns in the order of insert-new-messages.sql. */
  #insertMessages(values: Values): object[] {
    const columns = values as unknown[][];
    (columns[0] ?? []).forEach((_id, index) => {
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
      const cell = <Value>(column: number): Value => columns[column]?.[index] as Value;
      const id = cell<string>(0);
      if (this.messages.has(id)) throw new Error(`message ${id} was inserted twice`);
      this.messages.set(id, {
        id,
        tenant_id: cell(1),
        shard: cell(2),
        kind: cell(3),
        state: cell(4),
        held: cell(6),
        schedule_id: cell(7),
        occurrence_at: null,
        overlap: null,
        idempotency_key: null,
        source_id: null,
        due_at: timeOf(cell(13)),
        next_attempt_at: timeOf(cell(13)),
        created_at: timeOf(cell(14)),
        attempts: 0,
        destination: cell(15),
        method: cell(16),
        headers: JSON.parse(cell(17)) as DispatchRow['headers'],
        body: cell(18),
        max_retries: cell(19),
        timeout_ms: cell(20),
        labels: null,
        options: cell<string | null>(22) === null ? null : (JSON.parse(cell(22)) as DispatchRow['options']),
        finished: 0,
        endedAtMs: Infinity,
        confirmed: false,
      });
    });
    return [];
  }

  #recordOutcomes(values: Values): object[] {
    const [ids, states, attempts] = values as [string[], string[], number[]];
    const nextAttempts = values[9] as (number | null)[];
    return ids.flatMap((id, index) => {
      const row = this.messages.get(id);
      const state = states[index] ?? '';
      if (row === undefined) return [];
      const isTaken = state === 'delivered' ? row.state !== 'delivered' : row.state === 'pending';
      if (!isTaken) return [];
      this.world.note(`table records ${id.slice(-6)} ${state} after ${attempts[index] ?? 0}`);
      // That a call succeeded is a fact, and corrects a row that another node gave up meanwhile: no second end.
      const isCorrection = row.state !== 'pending';
      row.state = state;
      row.attempts = Math.max(row.attempts, attempts[index] ?? 0);
      row.next_attempt_at = nextAttempts[index] == null ? row.next_attempt_at : timeOf(nextAttempts[index]);
      if (state !== 'pending') {
        if (!isCorrection) row.finished += 1;
        row.endedAtMs = Math.min(row.endedAtMs, this.world.nowMs);
      }
      return [{ id }];
    });
  }
}

const CONNECTION_LOST = new SqlError('08006', 'Connection terminated unexpectedly');

function messageLock(id: string): RowLock {
  return { row: `message ${id}`, shared: false };
}

function shardLock(shard: number): RowLock {
  return { row: `shard ${shard}`, shared: false };
}

function copyOf(row: MessageRow | undefined): MessageRow[] {
  return row === undefined ? [] : [{ ...row }];
}

function timeOf(value: unknown): number {
  return typeof value === 'number' ? value : Date.parse(value as string);
}
