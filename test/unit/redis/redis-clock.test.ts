// What a measurement of Redis's clock is worth.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { offsetAfter } from '../../../src/redis/redis-clock.js';

/** A measurement: the answer needed `thereMs` to be read and `backMs` to be seen. */
const measurement = (offsetMs: number, askedAtMs: number, thereMs: number, backMs: number) => ({
  askedAtMs,
  redisMs: askedAtMs + thereMs + offsetMs,
  answeredAtMs: askedAtMs + thereMs + backMs,
});

describe("what is known of Redis's clock", () => {
  it('is the middle of a prompt answer', () => {
    expect(offsetAfter(1_000, measurement(5_000, 100, 1, 3))).toBe(5_000 - 1);
  });

  it('does not suffer from an answer that a frozen process saw seconds late', () => {
    expect(offsetAfter(5_000, measurement(5_000, 100, 0.1, 6_000))).toBe(5_000);
  });

  it('follows a clock that was set, even when only late answers tell', () => {
    const offsetMs = offsetAfter(5_000, measurement(65_000, 100, 0.1, 200));
    expect(Math.abs(offsetMs - 65_000)).toBeLessThanOrEqual(200);
  });

  it('is never further off than before, nor than the answer was under way', () => {
    const time = fc.double({ min: 0, max: 10_000, noNaN: true });
    const offset = fc.double({ min: -1e6, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(offset, offset, time, time, time, (trueMs, knownMs, askedAtMs, thereMs, backMs) => {
        const errorMs = Math.abs(offsetAfter(knownMs, measurement(trueMs, askedAtMs, thereMs, backMs)) - trueMs);
        expect(errorMs).toBeLessThanOrEqual(thereMs + backMs + 0.001);
        if (thereMs + backMs > 20) expect(errorMs).toBeLessThanOrEqual(Math.abs(knownMs - trueMs) + 0.001);
      }),
    );
  });
});
