// How a cancel and a delivery that is about to begin meet, without a question to a server in each delivery.

/**
 * A delivery begins within this time of when the node claimed the message or read its row, in milliseconds; after a longer wait (for a place
 * at its host, in a process that stood still) the node reads the row again first.
 */
export const RECHECK_AFTER_MS = 1_000;

/**
 * A cancel that finds its message claimed waits until the claim ended, and at most for this long after its commit: by then the call has begun,
 * or whoever holds the claim reads that it is canceled. More than the recheck by what the processes' clocks may differ in pace, and then some.
 */
export const CANCEL_WAIT_MS = RECHECK_AFTER_MS + 500;
