// Time as an argument: the only sources of time and delays, created in compose and passed on.

export interface Clock {
  /** Returns milliseconds since the epoch by this node's estimate of Redis's clock; whole or fractional. */
  nowMs(): number;
}

/**
 * This process's own clock: it never steps back and is unrelated to other processes' clocks. Trust in leases is
 * measured by it.
 */
export interface ProcessTime {
  /** Returns milliseconds since an arbitrary moment; fractional. */
  monotonicMs(): number;
  /** Calls back once after a delay in milliseconds, unless canceled before. */
  after(delayMs: number, call: () => void): Cancel;
}

export type Cancel = () => void;

/** Returns random bytes; passed on like the clock. */
export type RandomBytes = (bytes: number) => Uint8Array;
