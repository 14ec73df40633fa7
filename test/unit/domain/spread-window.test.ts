// Spread windows: ten thousand schedules at the top of the hour start evenly over their window, each at its own place every time.
import { describe, expect, it } from 'vitest';
import { spreadOffsetMs } from '../../../src/domain/spread-window.js';

describe('spreadOffsetMs', () => {
  it('spreads ten thousand schedules evenly, also those with numbered names', () => {
    const windowMs = 600_000;
    const buckets = new Array<number>(60).fill(0);
    const milliseconds = new Set<number>();
    for (let n = 0; n < 10_000; n++) {
      const offsetMs = spreadOffsetMs('tenant', `report-${n}`, windowMs);
      expect(Number.isInteger(offsetMs) && offsetMs >= 0 && offsetMs < windowMs).toBe(true);
      const bucket = Math.floor((offsetMs / windowMs) * buckets.length);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
      milliseconds.add(offsetMs % 1000);
    }
    const mean = 10_000 / buckets.length;
    const chiSquare = buckets.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0);
    // 59 degrees of freedom: an even spread exceeds 104 once in five thousand times; the names are fixed, so this never flickers.
    expect(chiSquare).toBeLessThan(104);
    expect(milliseconds.size).toBe(1000);
  });

  it('keeps its place, and depends on tenant and schedule', () => {
    expect(spreadOffsetMs('a', 'b', 3_600_000)).toBe(spreadOffsetMs('a', 'b', 3_600_000));
    const places = new Set(
      ['a|bc', 'ab|c', 'abc|', '|abc'].map((pair) => {
        const [tenant = '', schedule = ''] = pair.split('|');
        return spreadOffsetMs(tenant, schedule, 86_400_000);
      }),
    );
    expect(places.size).toBe(4);
  });

  it('is 0 without a window', () => {
    expect(spreadOffsetMs('a', 'b', 0)).toBe(0);
    expect(spreadOffsetMs('a', 'b', 1)).toBe(0);
    expect(() => spreadOffsetMs('a', 'b', -1)).toThrow();
  });
});
