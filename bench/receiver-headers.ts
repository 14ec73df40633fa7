/** Names that the receiver and those who call it agree on. */

/** Header with the time (epoch milliseconds) at which a call was due. */
export const DUE_HEADER = 'x-due';
