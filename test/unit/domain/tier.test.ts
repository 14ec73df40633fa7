// How near work is decides where it waits.

import { describe, expect, it } from 'vitest';
import { tierOf } from '../../../src/domain/tier.js';

const bounds = { immediateMs: 900_000, horizonMs: 86_400_000 };
const nowMs = 1_795_000_000_000;

describe('a tier', () => {
  it.each([
    [-86_400_000, 'immediate'],
    [0, 'immediate'],
    [900_000, 'immediate'],
    [900_001, 'hot'],
    [86_400_000, 'hot'],
    [86_400_001, 'cold'],
    [400 * 86_400_000, 'cold'],
  ] as const)('of work due in %i ms is %s', (waitMs, tier) => {
    expect(tierOf(nowMs + waitMs, nowMs, bounds)).toBe(tier);
  });
});
