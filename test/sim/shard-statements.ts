// What the statements do that grant epochs (src/postgres/shards/*.sql), by the statements' names.

import type { Row } from '../../src/postgres/database.js';
import { shardLock, type StatementModels } from './statement.js';
import { rowsOf, type ShardRow, type View } from './tables.js';

/** What granting needs of the server around it. */
export interface Granting {
  /** Whether another transaction has a shard's row, so that a grant leaves that out. */
  readonly skips: (shard: number) => boolean;
  /** Whether a grant leaves such shards out, as grant-epochs.sql does, or waits for them. */
  readonly skipsLocked: () => boolean;
  readonly endAbandoned: (nodes: ReadonlySet<string>, idleMs: number) => Row<'end-abandoned'>[];
  readonly onRaised: (before: ShardRow, after: ShardRow) => void;
}

export function shardStatements(granting: Granting): StatementModels {
  const raise = (view: View, row: ShardRow, epoch: number, node: string | null): { shard: number; epoch: number } => {
    const after = { ...row, epoch, node };
    view.put('shards', String(row.shard), after);
    granting.onRaised(row, after);
    return { shard: row.shard, epoch };
  };
  const locks = (_view: View, { shards }: { shards: readonly number[] }) => shards.map((shard) => shardLock(shard));
  return {
    'grant-epochs': {
      run: (view, { node, shards }) =>
        found(view, shards)
          .filter(({ shard }) => !granting.skips(shard))
          .map((row) => raise(view, row, row.epoch + 1, node)),
      locks: (view, params) => (granting.skipsLocked() ? [] : locks(view, params)),
    },
    'renew-epochs': {
      run: (view, { node, ...held }) =>
        heldOf(view, held)
          .filter(({ row, epoch }) => row.node === node && row.epoch >= epoch)
          .map(({ row }) => raise(view, row, row.epoch + 1, row.node)),
      locks,
    },
    'overtake-epochs': {
      run: (view, { node, ...held }) =>
        heldOf(view, held)
          .filter(({ row }) => row.node === node)
          .map(({ row, epoch }) => raise(view, row, Math.max(row.epoch, epoch) + 1, row.node)),
      locks,
    },
    'select-shards': { run: (view) => view.all('shards').sort((a, b) => a.shard - b.shard) },
    'select-overtaken-shards': {
      run: (view, held) =>
        heldOf(view, held)
          .filter(({ row, epoch }) => row.epoch > epoch)
          .map(({ row }) => ({ shard: row.shard })),
    },
    'end-abandoned': {
      run: (view, { shards, idleMs }) =>
        granting.endAbandoned(new Set(found(view, shards).flatMap(({ node }) => node ?? [])), idleMs),
    },
  };
}

function found(view: View, shards: readonly number[]): ShardRow[] {
  return shards.flatMap((shard) => view.get('shards', String(shard)) ?? []);
}

interface Held {
  readonly shards: readonly number[];
  readonly epochs: readonly number[];
}

function heldOf(view: View, { shards, epochs }: Held): { row: ShardRow; epoch: number }[] {
  return rowsOf({ shard: shards, epoch: epochs }).flatMap(({ shard, epoch }) => {
    const row = view.get('shards', String(shard));
    return row === undefined ? [] : [{ row, epoch }];
  });
}
