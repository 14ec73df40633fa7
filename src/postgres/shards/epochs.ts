// The authority for epochs: granted here, rising for ever, checked by Redis's scripts and by firing.

import type { Queryable, Row } from '../database.js';

/** The name of a node's connections, by which `endAbandoned` finds them; PostgreSQL keeps so many bytes of a name. */
export function connectionName(node: string): string {
  return `carillon ${node}`.slice(0, 63);
}

/**
 * Grants new epochs for shards to a node, one statement for all. Returns each shard's epoch. A shard that a transaction of its former owner
 * holds on to is missing: it may be asked for again, after `endAbandoned` if that goes on.
 */
export async function grantEpochs(
  table: Queryable,
  node: string,
  shards: readonly number[],
): Promise<Map<number, number>> {
  const rows = await table.run('grant-epochs', { node, shards });
  return new Map(rows.map((row) => [row.shard, row.epoch]));
}

/**
 * Grants new epochs for shards whose queue was lost, but only where they are still this node's.
 * A shard that is missing from the answer has another owner by now.
 */
export async function renewEpochs(
  table: Queryable,
  node: string,
  held: ReadonlyMap<number, number>,
): Promise<Map<number, number>> {
  const rows = await table.run('renew-epochs', { node, ...columns(held) });
  return new Map(rows.map((row) => [row.shard, row.epoch]));
}

/**
 * Lifts the epochs of shards that are this node's above those that Redis has: PostgreSQL is older than Redis, as after a
 * backup was restored. A shard that is missing from the answer has another owner.
 */
export async function supersedeEpochs(
  table: Queryable,
  node: string,
  stored: ReadonlyMap<number, number>,
): Promise<Map<number, number>> {
  const rows = await table.run('overtake-epochs', { node, ...columns(stored) });
  return new Map(rows.map((row) => [row.shard, row.epoch]));
}

function columns(epochs: ReadonlyMap<number, number>): { shards: number[]; epochs: number[] } {
  return { shards: [...epochs.keys()], epochs: [...epochs.values()] };
}

export interface Abandoned {
  /** The connection's name, see `connectionName`. */
  readonly name: string;
  readonly idleMs: number;
  /** False where PostgreSQL did not end it. */
  readonly ended: boolean;
}

/** Ends transactions of these shards' former owners that have stood still for longer than `idleMs`, and returns what they were. */
export async function endAbandoned(table: Queryable, shards: readonly number[], idleMs: number): Promise<Abandoned[]> {
  const rows = await table.run('end-abandoned', { shards, idleMs });
  return rows.map(({ name, idle_ms, ended }) => ({ name, idleMs: idle_ms, ended }));
}

/** Those of these shards whose epoch is a later one by now than the one given. */
export async function supersededShards(table: Queryable, held: ReadonlyMap<number, number>): Promise<number[]> {
  const rows = await table.run('select-overtaken-shards', columns(held));
  return rows.map((row) => row.shard);
}

/** A shard, with the process that it was granted to last: null when it never was. */
export type ShardRow = Row<'select-shards'>;

/** Every shard, in order. */
export async function readShards(table: Queryable): Promise<ShardRow[]> {
  return table.run('select-shards');
}
