// TEMPORARY: what the fuzz finds and others are mending. To be emptied; an entry that is here is not reported.

export interface Known {
  /** As findings name it. */
  readonly operation: RegExp;
  /** The fault, and for an unexpected error what the node's log says of it. */
  readonly fault: RegExp;
  readonly reason: string;
}

export const KNOWN: readonly Known[] = [];
