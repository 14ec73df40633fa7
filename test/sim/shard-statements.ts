// What the statements do that grant epochs (src/postgres/shards/*.sql), by the statements' names.

import { shardLock, type Statement, type Values } from './statement.js';
import { rowsOf, type ShardRow, type View } from './tables.js';

/** What granting needs of the server around it. */
export interface Granting {
  /** Whether another transaction has a shard's row, so that a grant leaves that out. */
  readonly skips: (shard: number) => boolean;
  /** Whether a grant leaves such shards out, as grant-epochs.sql does, or waits for them. */
  readonly skipsLocked: () => boolean;
  readonly endAbandoned: (nodes: ReadonlySet<string>, idleMs: number) => object[];
  readonly onRaised: (before: ShardRow, after: ShardRow) => void;
}

export function shardStatements(granting: Granting): Record<string, Statement> {
  const raise = (view: View, row: ShardRow, epoch: number, node: string | null): object => {
    const after = { ...row, epoch, node };
    view.put('shards', String(row.shard), after);
    granting.onRaised(row, after);
    return { shard: row.shard, epoch };
  };
  return {
    'grant-epochs': {
      run: (view, [node, shards]) =>
        found(view, shards)
          .filter(({ shard }) => !granting.skips(shard))
          .map((row) => raise(view, row, row.epoch + 1, node as string)),
      locks: (_view, [, shards]) =>
        granting.skipsLocked() ? [] : (shards as number[]).map((shard) => shardLock(shard)),
    },
    'renew-epochs': {
      run: (view, [node, ...held]) =>
        heldOf(view, held)
          .filter(({ row, epoch }) => row.node === node && row.epoch >= epoch)
          .map(({ row }) => raise(view, row, row.epoch + 1, row.node)),
      locks: (_view, [, shards]) => (shards as number[]).map((shard) => shardLock(shard)),
    },
    'overtake-epochs': {
      run: (view, [node, ...held]) =>
        heldOf(view, held)
          .filter(({ row }) => row.node === node)
          .map(({ row, epoch }) => raise(view, row, Math.max(row.epoch, epoch) + 1, row.node)),
      locks: (_view, [, shards]) => (shards as number[]).map((shard) => shardLock(shard)),
    },
    'select-shards': { run: (view) => view.all('shards').sort((a, b) => a.shard - b.shard) },
    'select-overtaken-shards': {
      run: (view, held) =>
        heldOf(view, held)
          .filter(({ row, epoch }) => row.epoch > epoch)
          .map(({ row }) => ({ shard: row.shard })),
    },
    'end-abandoned': {
      run: (view, [shards, idleMs]) =>
        granting.endAbandoned(new Set(found(view, shards).flatMap(({ node }) => node ?? [])), idleMs as number),
    },
  };
}

function found(view: View, shards: unknown): ShardRow[] {
  return (shards as number[]).flatMap((shard) => view.get('shards', String(shard)) ?? []);
}

function heldOf(view: View, values: Values): { row: ShardRow; epoch: number }[] {
  return rowsOf(values, ['shard', 'epoch']).flatMap(({ shard, epoch }) => {
    const row = view.get('shards', String(shard));
    return row === undefined ? [] : [{ row, epoch: epoch as number }];
  });
}
