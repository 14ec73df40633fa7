// Simulations in which nothing goes wrong, so that everything must be in time: of near work, and of work beyond the
// horizon.

/** How late a message may be sent. */
const LATE_MS = 1_500;

export const PROMPT = { faults: [], leastDisturbances: 0, mayNotMove: true, lateMs: LATE_MS } as const;

/** Horizons as short as can be, which is a minute and more, and work that is due beyond them. */
export const FAR = {
  ...PROMPT,
  isFar: true,
  faultsMs: 240_000,
  config: { CARILLON_HORIZON_MS: 10_000, CARILLON_PROMOTE_EVERY_MS: 6_000, CARILLON_IMMEDIATE_MS: 5_000 },
} as const;
