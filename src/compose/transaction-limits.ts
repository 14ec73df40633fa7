// Limits of a node's transactions: shorter than a lease, so that the locks of a frozen node are free when its shards
// are acquired.

import { invariant } from '../domain/errors.js';
import type { TransactionLimits } from '../postgres/database.js';

/** Fractions of a lease. A statement that waits for a lock of a frozen node outlives that node's transaction. */
const IDLE = 0.5;
const LOCK = 0.7;
const STATEMENT = 0.9;
/**
 * Minimum for any lease: a busy PostgreSQL needs this long for large statements, and a busy node between two of them.
 */
const LEAST: TransactionLimits = { idleMs: 1_000, lockMs: 2_000, statementMs: 3_000 };

/** Returns the limits for a lease of this many milliseconds. */
export function transactionLimits(leaseMs: number): TransactionLimits {
  const limits = {
    idleMs: Math.max(LEAST.idleMs, Math.round(leaseMs * IDLE)),
    lockMs: Math.max(LEAST.lockMs, Math.round(leaseMs * LOCK)),
    statementMs: Math.max(LEAST.statementMs, Math.round(leaseMs * STATEMENT)),
  };
  invariant(limits.idleMs < limits.lockMs && limits.lockMs < limits.statementMs, 'a lock is waited for the longest');
  return limits;
}
