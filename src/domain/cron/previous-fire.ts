// Finds the last instant before another that a cron expression matches, by searching forward from increasingly earlier
// times.

import type { CronExpression } from './expression.js';
import { nextFire } from './next-fire.js';

const FIRST_SPAN_MS = 60_000;
/** About fifty years: as far as the forward search goes. */
const MAX_SPAN_MS = 50 * 366 * 86_400_000;

/**
 * Returns the last firing strictly before `beforeMs`; null when there is none within fifty years. `anchorMs` as in
 * nextFire.
 */
export function previousFire(expression: CronExpression, beforeMs: number, anchorMs: number): number | null {
  const after = (atMs: number): number => {
    const nextMs = nextFire(expression, atMs, anchorMs)?.atMs ?? Infinity;
    return nextMs < beforeMs ? nextMs : Infinity;
  };
  let foundMs = Infinity;
  for (let spanMs = FIRST_SPAN_MS; foundMs === Infinity && spanMs < 2 * MAX_SPAN_MS; spanMs *= 2) {
    foundMs = after(beforeMs - Math.min(spanMs, MAX_SPAN_MS));
  }
  if (foundMs === Infinity) return null;
  // Bisection between a firing and the end: a minute of seconds costs six steps.
  let highMs = beforeMs;
  for (;;) {
    const nextMs = after(foundMs);
    if (nextMs === Infinity) return foundMs;
    foundMs = nextMs;
    const middleMs = Math.floor((foundMs + highMs) / 2);
    if (middleMs <= foundMs) continue;
    const laterMs = after(middleMs);
    if (laterMs === Infinity) highMs = middleMs;
    else foundMs = laterMs;
  }
}
