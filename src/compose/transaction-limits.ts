// How long a node's transactions may stand still: less than a lease, so that what a frozen node had locked is free when its shards are taken over.

import { invariant } from '../domain/errors.js';
import type { TransactionLimits } from '../postgres/database.js';

/** Parts of a lease. What waits for a lock of a frozen node outlives that node's transaction. */
const IDLE = 0.5;
const LOCK = 0.7;
const STATEMENT = 0.9;
/** However short a lease is, a busy PostgreSQL needs so long for large statements, and a busy node so long between two of them. */
const LEAST: TransactionLimits = { idleMs: 1_000, lockMs: 2_000, statementMs: 3_000 };

/** The limits that go with a lease of so many milliseconds. */
export function transactionLimits(leaseMs: number): TransactionLimits {
  const limits = {
    idleMs: Math.max(LEAST.idleMs, Math.round(leaseMs * IDLE)),
    lockMs: Math.max(LEAST.lockMs, Math.round(leaseMs * LOCK)),
    statementMs: Math.max(LEAST.statementMs, Math.round(leaseMs * STATEMENT)),
  };
  invariant(limits.idleMs < limits.lockMs && limits.lockMs < limits.statementMs, 'a lock is waited for the longest');
  return limits;
}
