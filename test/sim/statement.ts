// What a model of an SQL statement is.

import type { RowLock } from './table-transactions.js';
import type { View } from './tables.js';

export type Values = readonly unknown[];

/** Whether no other transaction has a row. */
export type IsFree = (lock: RowLock) => boolean;

export interface Statement {
  /** What it does to the rows that it sees, and what it returns. */
  readonly run: (view: View, values: Values, isFree: IsFree) => object[];
  /** The rows that it locks until its transaction ends; it waits for those that others have. */
  readonly locks?: (view: View, values: Values, isFree: IsFree) => RowLock[];
}

export function exclusive(row: string): RowLock {
  return { row, shared: false };
}

export function messageLocks(ids: unknown): RowLock[] {
  return (ids as string[]).map((id) => exclusive(`message ${id}`));
}

export function shardLock(shard: number, shared = false): RowLock {
  return { row: `shard ${shard}`, shared };
}

export function scheduleLock(tenantId: unknown, id: unknown): RowLock {
  return exclusive(`schedule ${String(tenantId)} ${String(id)}`);
}

export function keyLock(tenantId: unknown, scope: unknown, key: unknown): RowLock {
  return exclusive(`key ${String(tenantId)} ${String(scope)} ${String(key)}`);
}
