// A simulated table: epochs and messages, and what our statements (src/postgres) do to them, by the statements' names.

import type { MessageState } from '../../src/domain/message.js';
import type { Given, Params, Row, StatementName, TransactionLimits } from '../../src/postgres/database.js';
import type { DispatchRow } from '../../src/postgres/messages/message-columns.js';
import type { Later, Link } from './link.js';
import type { Caller } from './redis-server.js';
import { Server } from './server.js';
import { type RowLock, SqlError, type Transaction, Transactions } from './table-transactions.js';
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

/** What statements do, by their names. */
type Models = { readonly [Name in StatementName]?: (...given: Given<Name>) => Row<Name>[] };
type Locks = { readonly [Name in StatementName]?: (...given: Given<Name>) => RowLock[] };

export class TableServer extends Server {
  readonly shards: ShardEpoch[];
  readonly messages = new Map<string, MessageRow>();
  readonly transactions: Transactions;
  /** Changed by those who want to know what a wrong authority does. */
  readonly statements: Models;
  /** The rows that a statement locks. */
  readonly #locks: Locks;
  /** Who runs the statement that is carried out. */
  #by!: Caller;
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
      'grant-epochs': ({ node, shards }) =>
        shards
          .filter((shard) => !this.#skips(shard))
          .map((shard) => this.#raise(shard, this.#of(shard).epoch + 1, node)),
      'fire-schedules': ({ fencedShards, epochs }) =>
        fencedShards.flatMap((shard, index) =>
          this.#of(shard).epoch === epochs[index] ? [{ shard, tenant_id: null, id: null }] : [],
        ),
      'end-abandoned': ({ shards, idleMs }) => this.#endAbandoned(shards, idleMs),
      'renew-epochs': ({ node, shards, epochs }) =>
        shards.flatMap((shard, index) => {
          const { epoch, node: owner } = this.#of(shard);
          const isHeld = owner === node && epoch >= (epochs[index] ?? 0);
          return isHeld ? [this.#raise(shard, epoch + 1, owner)] : [];
        }),
      'overtake-epochs': ({ node, shards, epochs }) =>
        shards.flatMap((shard, index) => {
          const { epoch, node: owner } = this.#of(shard);
          return owner === node ? [this.#raise(shard, Math.max(epoch, epochs[index] ?? 0) + 1, owner)] : [];
        }),
      'select-overtaken-shards': ({ shards, epochs }) =>
        shards.flatMap((shard, index) => (this.#of(shard).epoch > (epochs[index] ?? 0) ? [{ shard }] : [])),
      'insert-messages': (columns) => this.#insertMessages(columns),
      'insert-new-messages': (columns) => {
        this.#insertMessages(columns);
        return [];
      },
      'cancel-messages': ({ ids }) => this.#canceled(ids, 'pending', (row) => this.#cancel(row)),
      'select-unconfirmed-cancels': ({ ids }) => this.#canceled(ids, 'canceled', () => undefined),
      'confirm-cancels': ({ ids }) => this.#canceled(ids, 'canceled', (row) => (row.confirmed = true)),
      'select-dispatch': ({ ids }) => {
        this.onRead(ids, this.#by);
        return ids.flatMap((id) => copyOf(this.messages.get(id)));
      },
      'record-outcomes': (columns) => this.#recordOutcomes(columns),
      'select-messages-to-promote': ({ shard, fromId, untilId, horizonAtMs, limit }) =>
        this.#pending(shard)
          .filter(({ id }) => id >= fromId && id < untilId)
          .filter(({ next_attempt_at }) => next_attempt_at < horizonAtMs)
          .slice(0, limit),
      'select-messages-to-rescue': ({ shard, afterId, untilId, overdueAtMs, createdBeforeMs, limit }) =>
        this.#pending(shard)
          .filter(({ id }) => id > afterId && id < untilId)
          .filter((row) => row.next_attempt_at <= overdueAtMs && row.created_at <= createdBeforeMs)
          .slice(0, limit),
      'select-writability': () => [{ read_only: 'off' }],
      // Nothing of this is simulated.
      'select-schedules-to-promote': () => [],
      'release-held': () => [],
      'insert-attempts': () => [],
    };
    const ofShards = ({ shards }: { shards: readonly number[] }): RowLock[] => shards.map(shardLock);
    const ofMessages = ({ ids }: { ids: readonly string[] }): RowLock[] => ids.map(messageLock);
    this.#locks = {
      'grant-epochs': (params) => (this.skipsLocked ? [] : ofShards(params)),
      'renew-epochs': ofShards,
      'overtake-epochs': ofShards,
      'fire-schedules': ({ fencedShards, epochs }) =>
        fencedShards
          .filter((shard, index) => this.#of(shard).epoch === epochs[index])
          .map((shard) => ({ ...shardLock(shard), shared: true })),
      'record-outcomes': ofMessages,
      'cancel-messages': ofMessages,
      'confirm-cancels': ofMessages,
    };
  }

  /** Runs a statement, by itself where no transaction is given: at once, or as soon as the rows that it locks are free. */
  run<Name extends StatementName>(
    name: Name,
    given: Given<Name>,
    by: Caller,
    transaction: Transaction | null = null,
  ): Row<Name>[] | Later<Row<Name>[]> {
    const statement = this.statements[name];
    if (statement === undefined) throw new Error(`the simulation has no model of ${name}.sql`);
    const locks = this.#locks[name]?.(...given) ?? [];
    return this.transactions.run(transaction, locks, () => {
      this.#by = by;
      return transaction === null ? statement(...given) : this.#staged(transaction, locks, () => statement(...given));
    });
  }

  /** A process that ended: its kernel closes its connections. */
  forget(link: Link): void {
    for (const transaction of this.transactions.ofLink(link)) this.transactions.end(transaction, CONNECTION_LOST);
    this.links.delete(link);
  }

  /** One in two is half open: PostgreSQL is not told, and the transaction ends by its limit. */
  override lostConnection(link: Link): void {
    if (this.isUp && this.world.chance.happens(0.5)) return;
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

  /** What a statement changes within a transaction is seen by others when that is committed. */
  #staged<Rows>(transaction: Transaction, locks: readonly RowLock[], statement: () => Rows): Rows {
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

  #endAbandoned(shards: readonly number[], idleMs: number): Row<'end-abandoned'>[] {
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

  #raise(shard: number, epoch: number, node: string | null): { shard: number; epoch: number } {
    this.onGrant(shard, this.#of(shard).node, node ?? '');
    this.shards[shard] = { epoch, node };
    this.world.note(`table grants ${shard} to ${node ?? ''} as ${epoch}`);
    return { shard, epoch };
  }

  #pending(shard: number): MessageRow[] {
    return [...this.messages.values()]
      .filter((row) => row.shard === shard && row.state === 'pending')
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Does something with messages of a state, of canceled ones with those that were not confirmed, and returns them as they are then. */
  #canceled(
    ids: readonly string[],
    state: MessageState,
    change: (row: MessageRow) => unknown,
  ): (MessageRow & { body_bytes: number })[] {
    return ids.flatMap((id) => {
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

  #insertMessages(columns: Params<'insert-messages'>): { id: string }[] {
    columns.ids.forEach((id, index) => {
      const cell = <Value>(column: readonly Value[]): Value => {
        const value = column[index];
        if (value === undefined) throw new Error(`a column of message ${id} is too short`);
        return value;
      };
      if (this.messages.has(id)) throw new Error(`message ${id} was inserted twice`);
      const options = cell(columns.options);
      this.messages.set(id, {
        id,
        tenant_id: cell(columns.tenantIds),
        shard: cell(columns.shards),
        kind: cell(columns.kinds),
        state: cell(columns.states),
        held: cell(columns.held),
        schedule_id: cell(columns.scheduleIds),
        occurrence_at: null,
        overlap: null,
        idempotency_key: null,
        source_id: null,
        due_at: cell(columns.dueAtMs),
        next_attempt_at: cell(columns.dueAtMs),
        created_at: cell(columns.createdAtMs),
        attempts: 0,
        destination: cell(columns.destinations),
        method: cell(columns.methods),
        headers: JSON.parse(cell(columns.headers)) as MessageRow['headers'],
        body: cell(columns.bodies),
        max_retries: cell(columns.maxRetries),
        timeout_ms: cell(columns.timeoutMs),
        labels: null,
        options: options === null ? null : (JSON.parse(options) as MessageRow['options']),
        finished: 0,
        endedAtMs: Infinity,
        confirmed: false,
      });
    });
    return columns.ids.map((id) => ({ id }));
  }

  #recordOutcomes({ ids, states, attempts, nextAttemptAtMs }: Params<'record-outcomes'>): { id: string }[] {
    return ids.flatMap((id, index) => {
      const row = this.messages.get(id);
      const state = states[index];
      if (row === undefined || state === undefined) return [];
      const isTaken = state === 'delivered' ? row.state !== 'delivered' : row.state === 'pending';
      if (!isTaken) return [];
      this.world.note(`table records ${id.slice(-6)} ${state} after ${attempts[index] ?? 0}`);
      // That a call succeeded is a fact, and corrects a row that another node gave up meanwhile: no second end.
      const isCorrection = row.state !== 'pending';
      row.state = state;
      row.attempts = Math.max(row.attempts, attempts[index] ?? 0);
      row.next_attempt_at = nextAttemptAtMs[index] ?? row.next_attempt_at;
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
