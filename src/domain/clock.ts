// Time as an argument: the only things that may be asked for the time or for a delay, made in compose and handed on.

export interface Clock {
  /** Milliseconds since the epoch by Redis's clock, as well as this node knows it; whole or fractional. */
  nowMs(): number;
}

/** This process's own time: it never steps back, and tells nothing of anybody else's. Leases are trusted by it. */
export interface ProcessTime {
  /** Milliseconds since some moment; fractional. */
  monotonicMs(): number;
  /** Calls once after a delay in milliseconds, unless canceled before. */
  after(delayMs: number, call: () => void): Cancel;
}

export type Cancel = () => void;

/** Random bytes on demand, handed on like the clock. */
export type RandomBytes = (bytes: number) => Uint8Array;
