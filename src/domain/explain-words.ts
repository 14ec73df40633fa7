// Formats times and durations for explanations.

import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './duration.js';

export function instant(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** Formats a duration exactly when it is short, in its two largest units when it is long. */
export function latency(durationMs: number): string {
  if (durationMs < 10 * SECOND_MS) return `${Math.max(0, Math.round(durationMs))} ms`;
  const parts: string[] = [];
  let restMs = durationMs;
  for (const [unit, unitMs] of UNITS) {
    const many = Math.floor(restMs / unitMs);
    if (many > 0) parts.push(`${many} ${unit}`);
    restMs -= many * unitMs;
  }
  return parts.slice(0, 2).join(' ');
}

export const fromNowOn = (durationMs: number): string => `in ${latency(durationMs)}`;

const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
  ['s', SECOND_MS],
] as const;
