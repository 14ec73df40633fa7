// The pure parts of the console's side: a picture and its deltas, who owns which shard, and lags in buckets.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deltaOf, toldPicture } from '../../../src/admin/delta.js';
import { LagBuckets, lagPercentile } from '../../../src/admin/lag-buckets.js';
import { applyDelta, type NodePicture, type Picture } from '../../../src/admin/protocol.js';
import { ShardMap } from '../../../src/admin/shard-map.js';
import { buildPicture, type Known } from '../../../src/admin/snapshot.js';

const SHARDS = 4;
const CLUSTER = { shards: SHARDS, leaseMs: 5_000, heartbeatMs: 1_000, version: '1', servedBy: 'a-1' };

function known(changes: Partial<Known> = {}): Known {
  const member = { uptimeMs: 600_000, heardMs: 100, draining: false, able: true };
  return {
    ...{ atMs: 1_000_000, cluster: CLUSTER, rosterAgeMs: 0, heard: new Map(), levels: [], history: [], events: [] },
    members: [
      { id: 'a-1', name: 'a', ...member },
      { id: 'b-1', name: 'b', ...member },
    ],
    shards: [0, 1, 2, 3].map((shard) => ({
      shard,
      owner: shard < 2 ? 'a-1' : 'b-1',
      epoch: 1,
      state: 'owned' as const,
    })),
    stores: {
      ...{ tableUp: true, queueUp: true, tableRoundTripMs: 1, queueRoundTripMs: 1 },
      ...{ memoryBytes: null, memoryMaxBytes: null },
    },
    mayJudge: true,
    ...changes,
  };
}

const stateOfB = (changes: Partial<Known>): NodePicture['state'] | undefined =>
  buildPicture(known(changes)).nodes.find(({ name }) => name === 'b')?.state;

describe("a node's state", () => {
  const heard = (heardAgeMs: number): Partial<Known> => ({
    heard: new Map([['b-1', { heardAgeMs, report: null, reportAgeMs: 0 }]]),
    rosterAgeMs: 5_000,
  });

  it('is suspect when it is silent, and not while nobody can be heard', () => {
    expect(stateOfB({})).toBe('active');
    expect(stateOfB(heard(500))).toBe('active');
    expect(stateOfB(heard(950))).toBe('suspect');
    expect(stateOfB({ ...heard(950), mayJudge: false })).toBe('active');
    // One that does not pulse is judged by its heartbeats.
    expect(stateOfB({ rosterAgeMs: 3_000 })).toBe('active');
    expect(stateOfB({ rosterAgeMs: 3_500 })).toBe('suspect');
  });

  it('is what it says of itself', () => {
    const members = (changes: object): Partial<Known> => ({
      members: known().members.map((member) => ({ ...member, ...changes })),
    });
    expect(stateOfB(members({ draining: true }))).toBe('draining');
    expect(stateOfB(members({ able: false }))).toBe('unable');
    expect(stateOfB({ ...members({ uptimeMs: 3_000 }), shards: [] })).toBe('joining');
  });
});

describe('deltas', () => {
  const pictures = fc
    .record({
      atMs: fc.nat(),
      ids: fc.uniqueArray(fc.constantFrom('a-1', 'b-1', 'c-1', 'd-1')),
      owners: fc.array(fc.constantFrom('a-1', 'b-1', null), { minLength: SHARDS, maxLength: SHARDS }),
      heardMs: fc.nat(2_000),
      queued: fc.array(fc.nat(5), { minLength: SHARDS, maxLength: SHARDS }),
    })
    .map(({ atMs, ids, owners, heardMs, queued }) =>
      buildPicture(
        known({
          atMs,
          members: [...ids].sort().map((id) => ({ ...known().members[0]!, id, name: id, heardMs })),
          shards: owners.map((owner, shard) => ({
            shard,
            owner,
            epoch: 1,
            state: owner === null ? 'orphaned' : 'owned',
          })),
          levels: queued.map((count, shard) => ({
            ...{ shard, epoch: 1, due: 0, queued: count, inFlight: 0, lagMs: 0, announcedAtMs: 5, completedAtMs: 5 },
          })),
        }),
      ),
    );

  it('lead from any picture to any other', () => {
    fc.assert(
      fc.property(pictures, pictures, (before, after) => {
        const delta = deltaOf(before, after, 1, true);
        expect(applyDelta(before, delta!)).toEqual(after);
      }),
    );
  });

  it('without figures lead to what is remembered of them as told', () => {
    fc.assert(
      fc.property(pictures, pictures, (before, after) => {
        const delta = deltaOf(before, after, 1, false);
        const told = toldPicture(before, after, false);
        if (delta !== null) expect(applyDelta(before, delta)).toEqual(told);
        // What was left out comes with the next one that has figures.
        expect(applyDelta(told, deltaOf(told, after, 2, true)!)).toEqual(after);
      }),
    );
  });

  it('are told without figures only when somebody waits for what they say', () => {
    const before = buildPicture(known());
    const later: Picture = buildPicture(known({ atMs: 1_000_250, rosterAgeMs: 250 }));
    expect(deltaOf(before, later, 1, false)).toBeNull();
    expect(deltaOf(before, later, 1, true)).toMatchObject({ seq: 1, atMs: 1_000_250 });
  });
});

describe('who owns a shard', () => {
  const members = known().members;
  const event = { id: 'x', atMs: 0 };

  it('follows what nodes say at once, and the roster when it is newer', () => {
    const map = new ShardMap(2, 5_000);
    const states = (): unknown[] => map.pictures().map(({ owner, state }) => [owner, state]);
    expect(states()).toEqual([
      [null, 'orphaned'],
      [null, 'orphaned'],
    ]);
    map.seen({ members, owners: ['a-1', 'a-1'] }, 0);
    map.apply({ ...event, kind: 'given', shards: [1], node: 'a-1' }, 1_000);
    expect(states()[1]).toEqual(['a-1', 'moving']);
    map.apply({ ...event, kind: 'moved', shards: [1], from: 'a-1', to: 'b-1', durationMs: 5 }, 1_050);
    // What was read before it was said.
    map.seen({ members, owners: ['a-1', null] }, 1_060);
    expect(states()[1]).toEqual(['b-1', 'owned']);
    // Told late: the next owner has it already.
    map.apply({ ...event, kind: 'given', shards: [1], node: 'a-1' }, 1_070);
    expect(states()[1]).toEqual(['b-1', 'owned']);
    map.seen({ members, owners: ['a-1', 'a-1'] }, 2_000);
    expect(states()[1]).toEqual(['a-1', 'owned']);
  });

  it('is nobody when the owner died, and when it was given and nobody took it', () => {
    const map = new ShardMap(2, 5_000);
    map.seen({ members, owners: ['a-1', 'b-1'] }, 0);
    map.seen({ members: members.slice(0, 1), owners: ['a-1', 'b-1'] }, 1_000);
    expect(map.pictures()[1]).toMatchObject({ owner: null, state: 'orphaned' });
    expect(map.unowned()).toEqual([1]);
    map.seen({ members, owners: [null, null] }, 2_000);
    expect(map.pictures()[0]).toMatchObject({ owner: 'a-1', state: 'moving' });
    map.seen({ members, owners: [null, null] }, 8_000);
    expect(map.pictures()[0]).toMatchObject({ owner: null, state: 'orphaned' });
  });
});

describe('lags', () => {
  it('of several nodes give percentiles within a tenth', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 1, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 50 }), (lags) => {
        const nodes = [new LagBuckets(), new LagBuckets()];
        lags.forEach((lag, index) => nodes[index % 2]!.add(lag));
        const taken = nodes.map((node) => node.take());
        const sorted = [...lags].sort((a, b) => a - b);
        const exact = sorted[Math.ceil(0.5 * sorted.length) - 1]!;
        const found = lagPercentile(taken, 0.5)!;
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(0.1 * exact + 0.5);
        expect(nodes[0]!.take()).toEqual([]);
      }),
    );
    expect(lagPercentile([[], []], 0.99)).toBeNull();
  });
});
