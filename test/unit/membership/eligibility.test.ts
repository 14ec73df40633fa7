// Who counts for shards.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eligibleMembers, isStarting, joining } from '../../../src/membership/eligibility.js';
import type { Member, RosterView } from '../../../src/membership/roster.js';

const GRACE_MS = 6_000;
const PATIENCE = { joinGraceMs: GRACE_MS, heartbeatMs: 1_000 };

function member(id: string, changes: Partial<Member> = {}): Member {
  return { id, name: id.slice(0, -2), uptimeMs: 60_000, heardMs: 0, draining: false, able: true, ...changes };
}

function view(members: readonly Member[], changes: Partial<RosterView> = {}): RosterView {
  return { members, owners: [], deaths: new Map(), ...changes };
}

describe('eligible members', () => {
  it('have been up for the join grace, whatever they own', () => {
    const members = [member('a-1'), member('b-1', { uptimeMs: 5_999 }), member('c-1', { uptimeMs: 10 })];
    expect(eligibleMembers(view(members, { owners: ['c-1', null] }), PATIENCE)).toEqual(['a-1']);
  });

  it('are those that came within the join grace of the oldest, and go on to be', () => {
    const times = fc.array(fc.nat(20_000), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        times,
        fc.array(fc.nat(1_700), { minLength: 6, maxLength: 6 }),
        fc.nat(20_000),
        (ages, heard, later) => {
          // Each says what it is at its own heartbeat, and what is read is as old as that.
          const at = (passedMs: number): string[] =>
            eligibleMembers(
              view(
                ages.map((ageMs, index) => {
                  const heardMs = Math.min(heard[index] ?? 0, ageMs + passedMs);
                  return member(`n${index}-1`, { uptimeMs: ageMs + passedMs - heardMs, heardMs });
                }),
              ),
              PATIENCE,
            );
          const oldestMs = Math.max(...ages);
          const together = ages.flatMap((ageMs, index) => (oldestMs - ageMs < GRACE_MS ? [`n${index}-1`] : []));
          expect(at(0)).toEqual(expect.arrayContaining(together));
          expect(at(later)).toEqual(expect.arrayContaining(at(0)));
        },
      ),
    );
  });

  it('are not given shards by one who read an older heartbeat and left out by the next (a rolling restart)', () => {
    const restarted = [member('n1-1', { uptimeMs: 5_900, heardMs: 1_000 }), member('n4-1', { uptimeMs: 100 })];
    const owners = ['n1-1'];
    expect(eligibleMembers(view(restarted, { owners }), PATIENCE)).toEqual(['n1-1']);
    const read = [member('n1-1', { uptimeMs: 6_900 }), member('n4-1', { uptimeMs: 100 })];
    expect(eligibleMembers(view(read, { owners }), PATIENCE)).toEqual(['n1-1']);
  });

  it('are not those that died before the join grace, however long they are still in the roster', () => {
    const members = [member('a-1'), member('flapping-1', { uptimeMs: 3_600, heardMs: 4_900 })];
    expect(eligibleMembers(view(members), PATIENCE)).toEqual(['a-1']);
  });

  it('are not those that drain', () => {
    const members = [member('a-1'), member('b-1', { draining: true })];
    expect(eligibleMembers(view(members, { owners: ['b-1'] }), PATIENCE)).toEqual(['a-1']);
  });

  it('are everybody when nobody has been up for long enough', () => {
    const members = [member('a-1', { uptimeMs: 10 }), member('b-1', { uptimeMs: 20 })];
    expect(eligibleMembers(view(members, { owners: ['dead-1'] }), PATIENCE)).toEqual(['a-1', 'b-1']);
    expect(eligibleMembers(view(members, { owners: ['a-1'] }), PATIENCE)).toEqual(['a-1', 'b-1']);
  });

  it('are not those whose stores are out of reach, unless that is so for all', () => {
    const unable = member('a-1', { able: false });
    expect(eligibleMembers(view([unable, member('b-1')], { owners: ['a-1'] }), PATIENCE)).toEqual(['b-1']);
    const both = [unable, member('b-1', { able: false })];
    expect(eligibleMembers(view(both, { owners: ['a-1', 'b-1'] }), PATIENCE)).toEqual(['a-1', 'b-1']);
  });

  it('wait twice as long for each further death of their name, at most a minute', () => {
    const at = (uptimeMs: number, deaths: number): string[] =>
      eligibleMembers(
        view([member('old-1'), member('flapping-1', { uptimeMs })], { deaths: new Map([['flapping', deaths]]) }),
        PATIENCE,
      );
    expect(at(6_000, 1)).toContain('flapping-1');
    expect(at(11_999, 2)).not.toContain('flapping-1');
    expect(at(12_000, 2)).toContain('flapping-1');
    expect(at(59_999, 9)).not.toContain('flapping-1');
    expect(at(60_000, 9)).toContain('flapping-1');
  });
});

it('newcomers are up for less than the join grace, able, staying, and of a name that did not die lately unless they own something', () => {
  const members = [
    member('old-1'),
    member('young-1', { uptimeMs: 100 }),
    member('unable-1', { uptimeMs: 100, able: false }),
    member('leaving-1', { uptimeMs: 100, draining: true }),
    member('flapping-1', { uptimeMs: 100 }),
    member('owning-1', { uptimeMs: 100 }),
  ];
  const deaths = new Map([
    ['flapping', 1],
    ['owning', 1],
  ]);
  const owners = ['old-1', 'owning-1'];
  const given = view(members, { owners, deaths });
  expect(joining(given, eligibleMembers(given, PATIENCE))).toEqual(['young-1', 'owning-1']);
});

it('a cluster is starting until somebody who is to stay has been up for the join grace', () => {
  const young = member('a-1', { uptimeMs: 5_999 });
  expect(isStarting(view([young, member('b-1', { uptimeMs: 10 })]), PATIENCE)).toBe(true);
  expect(isStarting(view([young, member('b-1', { draining: true })]), PATIENCE)).toBe(true);
  expect(isStarting(view([young, member('b-1')]), PATIENCE)).toBe(false);
});
