// What a model of an SQL statement is: typed as the statement itself is (src/postgres/statements.ts).

import type { Params, Row, StatementName } from '../../src/postgres/database.js';
import type { RowLock } from './postgres-transactions.js';
import type { View } from './tables.js';

/** Whether no other transaction has a row. */
export type IsFree = (lock: RowLock) => boolean;

export interface StatementModel<Name extends StatementName> {
  /** What it does to the rows that it sees, and what it returns. */
  readonly run: (view: View, params: Params<Name>, isFree: IsFree) => Row<Name>[];
  /** The rows that it locks until its transaction ends; it waits for those that others have. */
  readonly locks?: (view: View, params: Params<Name>, isFree: IsFree) => RowLock[];
}

export type StatementModels = { [Name in StatementName]?: StatementModel<Name> };

function exclusive(row: string): RowLock {
  return { row, shared: false };
}

export function messageLocks(ids: readonly string[]): RowLock[] {
  return ids.map((id) => exclusive(`message ${id}`));
}

export function shardLock(shard: number, shared = false): RowLock {
  return { row: `shard ${shard}`, shared };
}

export function scheduleLock(tenantId: number, id: string): RowLock {
  return exclusive(`schedule ${tenantId} ${id}`);
}

export function keyLock(tenantId: number, scope: string, key: string): RowLock {
  return exclusive(`key ${tenantId} ${scope} ${key}`);
}
