// A simulated PostgreSQL: what our statements do to its rows, by the statements' names, each within a transaction or by
// itself. That they do what the SQL does is held by test/differential/postgres.test.ts.

import type { Given, Params, Row, StatementName, TransactionLimits } from '../../src/postgres/database.js';
import { fireStatements } from './fire-statements.js';
import { keyStatements } from './key-statements.js';
import type { Later, Link } from './link.js';
import { messageStatements } from './message-statements.js';
import type { Caller } from './redis-server.js';
import { scheduleStatements } from './schedule-statements.js';
import { Server } from './server.js';
import { shardStatements } from './shard-statements.js';
import { type IsFree, shardLock, type StatementModel, type StatementModels } from './statement.js';
import { sweepStatements } from './sweep-statements.js';
import { type MessageRow, noTables, type ShardRow, type Tables, View } from './tables.js';
import { SqlError, type Transaction, Transactions } from './postgres-transactions.js';
import type { World } from './world.js';

export type { MessageRow } from './tables.js';

/** The tenants that there are. */
const TENANTS: ReadonlySet<number> = new Set([1, 2]);

export class PostgresServer extends Server {
  readonly tables: Tables = noTables();
  readonly transactions: Transactions;
  /** Changed by those who want to know what a wrong statement does. */
  readonly statements: StatementModels;
  /** Told of messages that are read to be sent. */
  onRead: (ids: readonly string[], by: Caller) => void = () => undefined;
  /** Told of each grant. */
  onGrant: (shard: number, from: string | null, to: string) => void = () => undefined;
  /** Whether a grant leaves out what others have locked, as grant-epochs.sql does. */
  skipsLocked = true;
  skippedGrants = 0;
  readonly #committed = new View(this.tables);

  constructor(world: World, shards: number, limits: TransactionLimits) {
    super(world, 'table');
    this.transactions = new Transactions(world, limits, this.tables);
    for (let shard = 0; shard < shards; shard++) {
      this.tables.shards.set(String(shard), { shard, epoch: 0, node: null });
    }
    this.statements = {
      ...shardStatements({
        skips: (shard) => this.#skips(shard),
        skipsLocked: () => this.skipsLocked,
        endAbandoned: (nodes, idleMs) => this.#endAbandoned(nodes, idleMs),
        onRaised: (before, after) => this.#raised(before, after),
      }),
      ...messageStatements(TENANTS, () => world.nowMs),
      ...sweepStatements,
      ...keyStatements,
      ...scheduleStatements,
      ...fireStatements,
      'select-writability': { run: () => [{ read_only: 'off' }] },
      'select-signing-keys': { run: () => [{ current: 'sig_key', next: 'sig_next' }] },
    };
  }

  get messages(): ReadonlyMap<string, MessageRow> {
    return this.tables.messages;
  }

  shard(shard: number): ShardRow {
    const row = this.tables.shards.get(String(shard));
    if (row === undefined) throw new Error(`there is no shard ${shard}`);
    return row;
  }

  /**
   * Runs a statement, by itself where no transaction is given: at once, or as soon as the rows that it locks are free.
   */
  run<Name extends StatementName>(
    name: Name,
    given: Given<Name>,
    by: Caller,
    transaction: Transaction | null = null,
  ): Row<Name>[] | Later<Row<Name>[]> {
    const model: StatementModel<Name> | undefined = this.statements[name];
    if (model === undefined) throw new Error(`the simulation has no model of ${name}.sql`);
    const [params = {}] = given;
    const isFree: IsFree = (lock) => !this.transactions.isLocked(transaction, [lock]);
    return this.transactions.run(
      transaction,
      () => model.locks?.(transaction?.view ?? this.#committed, params, isFree) ?? [],
      () => {
        if (name === 'select-dispatch') this.onRead((params as Params<'select-dispatch'>).ids, by);
        // By itself it is a transaction too, so that nothing is left of one that fails.
        const view = transaction?.view ?? new View(this.tables);
        const rows = model.run(view, params, isFree);
        if (transaction === null) this.transactions.onCommit(view.commit(this.world.nowMs));
        if (NOTED.has(name)) this.world.note(`table: ${by.id} ${name} ${rows.map((row) => shown(row)).join(' ')}`);
        return rows;
      },
    );
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
    const isLocked = this.skipsLocked && this.transactions.isLocked(null, [shardLock(shard)]);
    if (isLocked) this.skippedGrants += 1;
    return isLocked;
  }

  #endAbandoned(nodes: ReadonlySet<string>, idleMs: number): Row<'end-abandoned'>[] {
    return this.transactions.standingStill(nodes, idleMs).map((transaction) => {
      const { id } = transaction.link.process;
      const stoodMs = this.world.nowMs - (transaction.idleSinceMs ?? 0);
      this.world.note(`table is told to end a transaction of ${id}`);
      this.transactions.end(transaction, new SqlError('57P01', 'terminating connection due to administrator command'));
      return { name: `carillon ${id}`, idle_ms: Math.round(stoodMs), ended: true };
    });
  }

  #raised(before: ShardRow, after: ShardRow): void {
    this.onGrant(after.shard, before.node, after.node ?? '');
    this.world.note(`table grants ${after.shard} to ${after.node ?? ''} as ${after.epoch}`);
  }
}

const NOTED: ReadonlySet<string> = new Set(['record-outcomes', 'cancel-messages', 'fire-schedules']);
const CONNECTION_LOST = new SqlError('08006', 'Connection terminated unexpectedly');

function shown(row: object): string {
  const { id, shard } = row as { id?: string | null; shard?: number };
  return id == null ? `shard ${shard ?? ''}` : id.slice(-6);
}
