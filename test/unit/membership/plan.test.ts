// The plan under random comings and goings: balanced, sticky, and the same whoever makes it.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planOwners } from '../../../src/membership/plan.js';

const nobody = (shards: number): (string | null)[] => Array.from({ length: shards }, () => null);

function countsOf(owners: readonly (string | null)[]): Map<string | null, number> {
  const counts = new Map<string | null, number>();
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

function moved(before: readonly (string | null)[], after: readonly (string | null)[]): number[] {
  return before.flatMap((owner, shard) => (owner === after[shard] ? [] : [shard]));
}

const STEP = fc.record({ gives: fc.boolean(), takes: fc.boolean() });

/** Who owns what while some of the `members` have given what the plan gives to others, and some of that was taken. */
function partlyCarriedOut(
  plan: readonly string[],
  before: readonly string[],
  members: readonly string[],
  steps: readonly { gives: boolean; takes: boolean }[],
): (string | null)[] {
  return before.map((owner, shard) => {
    const { gives = false, takes = false } = steps[members.indexOf(owner)] ?? {};
    if (plan[shard] === owner || !gives) return owner;
    return takes ? plan[shard]! : null;
  });
}

function expectBalance(members: readonly string[], owners: readonly string[]): void {
  const counts = countsOf(owners);
  const shares = members.map((member) => counts.get(member) ?? 0);
  expect([...counts.keys()].every((owner) => members.includes(owner ?? ''))).toBe(true);
  expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
}

describe('the plan', () => {
  it('gives each member one contiguous range at a cold start', () => {
    expect(planOwners(['b', 'a', 'c'], nobody(8)).join('')).toBe('aaabbbcc');
  });

  it('is empty when nobody is there', () => {
    expect(planOwners([], ['a', 'b'])).toEqual([]);
  });

  it('keeps shares within one and moves no more than it must, over thousands of random changes', () => {
    const change = fc.record({ joins: fc.boolean(), which: fc.nat(), rotate: fc.nat() });
    fc.assert(
      fc.property(
        fc.constantFrom(7, 16, 64, 100, 256),
        fc.array(change, { minLength: 1, maxLength: 12 }),
        (shards, changes) => {
          let members = ['n0'];
          let owners = planOwners(members, nobody(shards));
          changes.forEach(({ joins, which, rotate }, index) => {
            const before = owners;
            if (joins || members.length === 1) {
              const joining = `n${(which % 1000) + 1000 * (index + 1)}`;
              const bound = Math.ceil(shards / (members.length + 1));
              members = [...members, joining];
              owners = planOwners(members, before);
              const changed = moved(before, owners);
              expect(changed.length).toBeLessThanOrEqual(bound);
              expect(changed.every((shard) => owners[shard] === joining)).toBe(true);
            } else {
              const leaving = members[which % members.length];
              members = members.filter((member) => member !== leaving);
              owners = planOwners(members, before);
              expect(moved(before, owners)).toEqual(
                before.flatMap((owner, shard) => (owner === leaving ? [shard] : [])),
              );
            }
            expectBalance(members, owners);
            const at = rotate % members.length;
            expect(planOwners([...members.slice(at), ...members.slice(0, at)], before)).toEqual(owners);
            expect(planOwners(members, owners)).toEqual(owners);
          });
        },
      ),
      { numRuns: 400 },
    );
  });

  it('makes nobody give again while others have yet to give or to take', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(7, 16, 64, 256),
        fc.integer({ min: 1, max: 6 }),
        fc.array(STEP, { minLength: 8, maxLength: 8 }),
        (shards, count, steps) => {
          const members = Array.from({ length: count }, (_, index) => `n${index}`);
          const before = planOwners(members, nobody(shards));
          const joined = [...members, 'm-joining'];
          const plan = planOwners(joined, before);
          const meanwhile = partlyCarriedOut(plan, before, members, steps);
          const next = planOwners(joined, meanwhile);
          const givenAgain = meanwhile.filter((owner, shard) => owner === plan[shard] && next[shard] !== owner);
          expect(givenAgain).toEqual([]);
          expectBalance(joined, next);
        },
      ),
    );
  });

  it('gives many at once no more than their share, and leaves the rest where it is', () => {
    const before = planOwners(['a', 'b'], nobody(256));
    const after = planOwners(['a', 'b', 'c', 'd'], before);
    expectBalance(['a', 'b', 'c', 'd'], after);
    expect(moved(before, after).length).toBe(128);
  });

  it('gives newcomers their share of what is free, and nothing of what has an owner', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(7, 16, 64, 256),
        fc.integer({ min: 2, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        (shards, count, young) => {
          const members = Array.from({ length: count }, (_, index) => `n${index}`);
          const joining = Array.from({ length: young }, (_, index) => `m${index}`);
          const before = planOwners(members, nobody(shards));
          expect(planOwners(members, before, joining)).toEqual(before);
          const [leaving, ...staying] = members;
          const after = planOwners(staying, before, joining);
          const freed = before.flatMap((owner, shard) => (owner === leaving ? [shard] : []));
          expect(moved(before, after)).toEqual(freed);
          const share = Math.ceil(shards / (staying.length + young));
          const counts = countsOf(after);
          for (const newcomer of joining) expect(counts.get(newcomer) ?? 0).toBeLessThanOrEqual(share);
          const toNewcomers = joining.reduce((sum, newcomer) => sum + (counts.get(newcomer) ?? 0), 0);
          expect(toNewcomers).toBeGreaterThanOrEqual(Math.min(freed.length, young * (share - 1)) - staying.length);
        },
      ),
    );
  });

  it('moves for newcomers nothing that has an owner, while one that counts is given its share beside them', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(16, 64, 256),
        fc.integer({ min: 1, max: 5 }),
        fc.array(STEP, { minLength: 5, maxLength: 5 }),
        (shards, count, steps) => {
          const members = Array.from({ length: count }, (_, index) => `n${index}`);
          const before = planOwners(members, nobody(shards));
          const joined = [...members, 'joining'];
          const plan = planOwners(joined, before);
          expect(planOwners(joined, before, ['young'])).toEqual(plan);
          const given = partlyCarriedOut(plan, before, members, steps);
          const shares = joined.map((member) => given.filter((owner) => owner === member).length);
          fc.pre(Math.max(...shares) - Math.min(...shares) > 1);
          expect(planOwners(joined, given, ['young'])).not.toContain('young');
        },
      ),
    );
  });

  it('leaves newcomers what they have, and gives them no more of what has an owner', () => {
    const before = planOwners(['a', 'b', 'c'], nobody(60));
    const withYoung = before.map((owner, shard) => (shard === 0 ? 'young' : owner));
    expect(planOwners(['a', 'b', 'c'], withYoung, ['young'])).toEqual(withYoung);
  });

  it('lets newcomers take over in a rolling restart, so that the last to go does not end up with all', () => {
    const names = ['n1', 'n2', 'n3', 'n4'];
    let owners = planOwners(names, nobody(256));
    const young: string[] = [];
    let most = 0;
    let moves = 0;
    for (const [index, name] of names.entries()) {
      // The last finds nobody who counts: then everybody does.
      const staying = names.slice(index + 1);
      const after = staying.length > 0 ? planOwners(staying, owners, young) : planOwners(young, owners);
      moves += moved(owners, after).length;
      owners = after;
      most = Math.max(most, ...countsOf(owners).values());
      young.push(`${name}-new`);
    }
    expect(most).toBeLessThanOrEqual(86);
    expect(moves).toBeLessThanOrEqual(64 + 3 * 86);
  });
});
