// The tier of work: its nearness decides whether it waits in Redis with its payload, in Redis, or only in PostgreSQL.

export type Tier = 'immediate' | 'hot' | 'cold';

export interface TierBounds {
  /** Work due within this many milliseconds is immediate. */
  readonly immediateMs: number;
  /** Work due within this many milliseconds is hot; beyond it is cold. */
  readonly horizonMs: number;
}

export function tierOf(dueAtMs: number, nowMs: number, bounds: TierBounds): Tier {
  const waitMs = dueAtMs - nowMs;
  if (waitMs <= bounds.immediateMs) return 'immediate';
  return waitMs <= bounds.horizonMs ? 'hot' : 'cold';
}
