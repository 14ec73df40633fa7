// The steps of a page that looks for what no index picks.

import { describe, expect, it } from 'vitest';
import { PAGE_BUDGET_MS, ReadThroughput } from '../../../src/postgres/read-throughput.js';

/** Takes steps that look at so many rows a millisecond, after so long for each; gives how wide they were, and how long all took. */
function walk(
  firstRows: number,
  { perMs, eachMs = 0 }: { perMs: number; eachMs?: number },
): {
  steps: number[];
  tookMs: number;
} {
  let nowMs = 1_000;
  const pace = new ReadThroughput({ nowMs: () => nowMs }, firstRows);
  const steps: number[] = [];
  do {
    steps.push(pace.stepRows);
    nowMs += eachMs + pace.stepRows / perMs;
  } while (pace.goOn());
  return { steps, tookMs: nowMs - 1_000 };
}

describe('the steps of a page', () => {
  it('widen, up to what may be held in memory', () => {
    expect(walk(51, { perMs: 200 }).steps.slice(0, 5)).toEqual([51, 408, 3_264, 5_000, 5_000]);
  });

  it('never take longer than a page may, from the first one on that shows the pace', () => {
    for (const perMs of [1, 3, 20, 70, 500]) {
      for (const eachMs of [0, 5, 20]) {
        expect(walk(51, { perMs, eachMs }).tookMs).toBeLessThanOrEqual(PAGE_BUDGET_MS + 1e-6);
      }
    }
  });

  it('are one where already the first takes too long, so that a page always gets on', () => {
    expect(walk(51, { perMs: 0.1 }).steps).toEqual([51]);
  });

  it('are no wider than the first where that is wide', () => {
    expect(walk(8_000, { perMs: 400 }).steps).toEqual([8_000, 8_000, 8_000, 8_000, 8_000, 8_000]);
  });
});
