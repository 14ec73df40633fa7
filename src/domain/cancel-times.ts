// The times by which a cancel and a starting delivery agree, without a request to a server in each delivery.

/**
 * A delivery starts within this time after the node claimed the message or read its row, in milliseconds. After a
 * longer wait (for its host's limit, in a process that was suspended) the node reads the row again first.
 */
export const RECHECK_AFTER_MS = 1_000;

/**
 * A cancel that finds its message claimed waits until the claim ended, and at most this long after its commit: by then
 * the call has started, or the claiming node reads that the message is canceled. Exceeds the recheck by more than the
 * difference in rate between two processes' clocks.
 */
export const CANCEL_WAIT_MS = RECHECK_AFTER_MS + 500;
