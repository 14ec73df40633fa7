// Which shard holds work: told by its id alone, the same on every node and in every version, and spread evenly.

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { messageId } from '../../../src/domain/ids.js';
import { fnv1a, shardOfMessage, shardOfSchedule } from '../../../src/domain/shard.js';

const SHARDS = 256;

/** Chi-squared of counts that should be equal, for each degree of freedom: about 1 when they are as even as chance makes them. */
function unevenness(shards: readonly number[]): number {
  const counts = new Array<number>(SHARDS).fill(0);
  for (const shard of shards) counts[shard] = (counts[shard] ?? 0) + 1;
  const expected = shards.length / SHARDS;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0) / (SHARDS - 1);
}

describe('a shard', () => {
  it('of a message is within bounds for any number of shards', () => {
    for (const shards of [1, 3, 16, 256, 4_096]) {
      for (let round = 0; round < 200; round++) {
        const shard = shardOfMessage(messageId(round, randomBytes(10)), shards);
        expect(Number.isInteger(shard) && shard >= 0 && shard < shards).toBe(true);
      }
    }
  });

  it('of messages is spread evenly, also when all are due at once', () => {
    const shards = Array.from({ length: 50_000 }, () => shardOfMessage(messageId(1_000, randomBytes(10)), SHARDS));
    expect(unevenness(shards)).toBeLessThan(1.5);
  });

  it('of schedules is spread evenly, also when their names count up', () => {
    for (const name of [
      (n: number) => `job-${n}`,
      (n: number) => String(n).padStart(8, '0'),
      (n: number) => `${n}.daily`,
    ]) {
      const shards = Array.from({ length: 50_000 }, (_, index) => shardOfSchedule(1, name(index), SHARDS));
      expect(unevenness(shards)).toBeLessThan(2);
    }
  });

  it('of the same name differs between tenants', () => {
    const shards = Array.from({ length: 5_000 }, (_, tenant) => shardOfSchedule(tenant, 'nightly', SHARDS));
    expect(unevenness(shards)).toBeLessThan(2);
  });

  it('never changes, so that a newer version looks where an older one put it', () => {
    expect(['', 'a', '1:nightly', '42:scd_00112233'].map(fnv1a)).toEqual([
      1572119809, 1469464775, 3560379022, 733313365,
    ]);
    expect(shardOfMessage('01a2294f41d97328871539de60983ff7', SHARDS)).toBe(247);
  });
});
