// Shards as people read them: every shard named once, in runs.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shardRanges } from '../../../src/domain/shard-ranges.js';

describe('ranges of shards', () => {
  it.each([
    [[], ''],
    [[7], '7'],
    [[0, 1, 2, 4], '0-2, 4'],
    [[10, 9, 3, 2, 2], '2-3, 9-10'],
  ])('of %j are "%s"', (shards, expected) => {
    expect(shardRanges(shards)).toBe(expected);
  });

  it('name exactly the shards they are made of', () => {
    const shards = fc.uniqueArray(fc.integer({ min: 0, max: 300 }));
    fc.assert(
      fc.property(shards, (given) => {
        const named = shardRanges(given)
          .split(', ')
          .filter((run) => run !== '')
          .flatMap((run) => {
            const [first = 0, last = first] = run.split('-').map(Number);
            return Array.from({ length: last - first + 1 }, (_, at) => first + at);
          });
        expect(named).toEqual([...given].sort((one, other) => one - other));
      }),
    );
  });
});
