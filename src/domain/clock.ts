// Time as an argument: the only thing that may be asked for the time, made in compose and handed on.

export interface Clock {
  /** Milliseconds since the epoch by Redis's clock, as well as this node knows it; whole or fractional. */
  nowMs(): number;
}

/** Random bytes on demand, handed on like the clock. */
export type Chance = (bytes: number) => Uint8Array;
