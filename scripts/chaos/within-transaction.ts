/** Strikes a node between two statements of a transaction, which is found by watching pg_stat_activity. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Witness } from './witness.js';

export interface Strike {
  readonly strike: () => void | Promise<void>;
  readonly undo: () => void | Promise<void>;
}

/** A load without transactions, or a PostgreSQL that is too busy to be watched, is not waited for longer. */
const LOOK_FOR_MS = 20_000;
/** What the node had sent already is carried out by then. */
const ARRIVED_MS = 50;

/** Strikes until a transaction stands still under it. Returns what was struck, for people; without luck it is the node as it was. */
export async function strikeWithinTransaction(node: string, witness: Witness, how: Strike): Promise<string> {
  const deadlineMs = performance.now() + LOOK_FOR_MS;
  while (performance.now() < deadlineMs) {
    const open = await witness.openTransactions(node);
    if (open === null) await delay(ARRIVED_MS);
    if (open === null || open.length === 0) continue;
    await how.strike();
    const marks = (await witness.openTransactions(node)) ?? [];
    await delay(ARRIVED_MS);
    const still = (await witness.openTransactions(node)) ?? [];
    if (marks.some((mark) => still.includes(mark))) return 'within a transaction';
    await how.undo();
  }
  await how.strike();
  return 'within no transaction, as none was found,';
}
