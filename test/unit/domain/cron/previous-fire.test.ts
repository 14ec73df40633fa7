// The firing before a time is the one after which the next is not before it any more.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextFire } from '../../../../src/domain/cron/next-fire.js';
import { parseCron } from '../../../../src/domain/cron/parse.js';
import { previousFire } from '../../../../src/domain/cron/previous-fire.js';

const EXPRESSIONS = ['* * * * * *', '*/7 * * * *', '30 2 * * *', '0 0 29 2 *', '0 9 * * MON-FRI', '@every 90s'];
const FROM_MS = Date.parse('2020-01-01T00:00:00Z');

describe('the firing before a time', () => {
  it('is the latest one', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...EXPRESSIONS),
        fc.constantFrom('UTC', 'America/New_York', 'Australia/Lord_Howe'),
        fc.integer({ min: FROM_MS, max: FROM_MS + 3e11 }),
        (text, timeZone, atMs) => {
          const expression = parseCron(text, { timeZone });
          const beforeMs = previousFire(expression, atMs, FROM_MS - 1e9)!;
          expect(beforeMs).toBeLessThan(atMs);
          expect(nextFire(expression, beforeMs, FROM_MS - 1e9)!.atMs).toBeGreaterThanOrEqual(atMs);
          expect(nextFire(expression, beforeMs - 1, FROM_MS - 1e9)!.atMs).toBe(beforeMs);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is none before an interval began', () => {
    expect(previousFire(parseCron('@every 90s', {}), FROM_MS + 90_000, FROM_MS)).toBeNull();
    expect(previousFire(parseCron('@every 90s', {}), FROM_MS + 90_001, FROM_MS)).toBe(FROM_MS + 90_000);
  });
});
