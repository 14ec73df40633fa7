// Issue 12: the chaos judge fails a run in which a witness saw nothing, something came late, or shards were taken over late after any fault.

import { describe, expect, it } from 'vitest';
import { judgeRun } from '../../../scripts/chaos/check/verdict.js';
import { FAULT_KINDS, type Evidence, type FaultKind, type FaultNote } from '../../../scripts/chaos/evidence.js';
import { call, goodRun, life, publish, record, T0 } from './evidence-builder.js';

const ONE = 'node-1-00000001';
const TWO = 'node-2-00000002';

const kinds = (changes: Partial<Evidence>): string[] => judgeRun(goodRun(changes)).wrong.map(({ kind }) => kind);

describe('a run', () => {
  it.each<[string, Partial<Evidence>]>([
    ['no publish was accepted', { publishes: [publish(null, 1)] }],
    ['no publish was accepted', { publishes: [] }],
    ['no message is recorded', { messages: [] }],
    ['no call came in at the receiver', { calls: [] }],
    ['no claim was heard', { claims: [] }],
    ['no change of a message’s state was noted', { stateNotes: [] }],
    ['no grant of a shard was noted', { grants: [] }],
    ['no node was ready', { lives: [life('node-1', 1, { readyAtMs: null })] }],
    ['no line of a node’s log was read', { events: [] }],
    ['the cluster was never looked at from outside', { samples: [] }],
  ])('in which %s fails', (kind, changes) => {
    expect(kinds(changes)).toContain(kind);
    expect(judgeRun(goodRun(changes)).passed).toBe(false);
  });
});

const fault = (changes: Partial<FaultNote> = {}): FaultNote => ({
  kind: 'flush-redis',
  nodes: [],
  startedAtMs: T0 + 900,
  endedAtMs: T0 + 900,
  recoveredAtMs: T0 + 4_000,
  detail: 'FLUSHALL',
  ...changes,
});

describe('work', () => {
  const arrivingAfter = (ms: number): Partial<Evidence> => ({
    calls: [call('msg_1', { arrivedAtMs: T0 + 1_000 + ms, answeredAtMs: T0 + 1_001 + ms })],
  });

  it('that comes a minute late in quiet times is a fault', () => {
    expect(kinds(arrivingAfter(60_000))).toEqual(['late in quiet times']);
    expect(kinds(arrivingAfter(16_000))).toEqual(['late in quiet times']);
    expect(kinds(arrivingAfter(1_000))).toEqual([]);
  });

  it('that a fault struck may come when it is over, and not a minute later', () => {
    expect(kinds({ ...arrivingAfter(20_000), faults: [fault()] })).toEqual([]);
    expect(kinds({ ...arrivingAfter(60_000), faults: [fault()] })).toEqual(['late after a fault']);
    const long = fault({ startedAtMs: T0 + 500, endedAtMs: T0 + 40_000, recoveredAtMs: T0 + 60_000 });
    expect(kinds({ ...arrivingAfter(60_000), faults: [long] })).toEqual([]);
  });

  it('that was tried again a minute late is a fault', () => {
    const failed = { messageId: 'msg_1', attempt: 1, answered: true, nextAttemptAtMs: T0 + 1_500 };
    const retriedAfter = (ms: number): Partial<Evidence> => ({
      messages: [record('msg_1', { attempts: 2 })],
      failedAttempts: [failed],
      calls: [
        call('msg_1', { status: 500 }),
        call('msg_1', { retried: 1, arrivedAtMs: T0 + 1_500 + ms, answeredAtMs: T0 + 1_501 + ms }),
      ],
    });
    expect(kinds(retriedAfter(10))).toEqual([]);
    expect(kinds(retriedAfter(60_000))).toEqual(['late in quiet times']);
  });
});

describe('shards', () => {
  const granted = { shard: 0, epoch: 1, node: ONE, atMs: T0 - 4_500 };
  const struck = (kind: FaultKind, forMs: number, takenMs: number | null): Partial<Evidence> => {
    const fromMs = T0 + 5_000;
    const times = { startedAtMs: fromMs, endedAtMs: fromMs + forMs, recoveredAtMs: fromMs + forMs };
    return {
      grants: [granted, ...(takenMs === null ? [] : [{ ...granted, epoch: 2, node: TWO, atMs: fromMs + takenMs }])],
      faults: [fault({ kind, nodes: ['node-1'], ...times })],
      disturbances: [
        { node: 'node-1', kind: kind.startsWith('freeze') ? 'freeze' : 'cut', fromMs, toMs: fromMs + forMs },
      ],
    };
  };
  const LATE = 'a shard that was taken late while its owner could not work';

  it.each<FaultKind>(['freeze', 'freeze-transaction', 'cut-locks', 'cut-all'])(
    'of a node whose leases ended (%s) are to be taken within the lease and a moment',
    (kind) => {
      expect(kinds(struck(kind, 30_000, 6_400))).toEqual([]);
      expect(kinds(struck(kind, 30_000, 29_000))).toEqual([LATE]);
      expect(kinds(struck(kind, 30_000, null))).toEqual([LATE]);
      // It was over before anybody had to take them.
      expect(kinds(struck(kind, 8_000, null))).toEqual([]);
    },
  );

  it.each<FaultKind>(['cut-redis', 'hole-redis', 'cut-postgres', 'hole-postgres', 'hole-transaction'])(
    'of a node without a store (%s) are to be taken when it had time to notice',
    (kind) => {
      expect(kinds(struck(kind, 55_000, 20_000))).toEqual([]);
      expect(kinds(struck(kind, 55_000, null))).toEqual([LATE]);
    },
  );

  it.each(FAULT_KINDS)('have their owners soon after every fault (%s)', (kind) => {
    const times = { kind, startedAtMs: T0 + 2_000, endedAtMs: T0 + 3_000, recoveredAtMs: T0 + 50_000 };
    expect(kinds({ faults: [fault({ ...times, ownedAtMs: T0 + 9_000 })] })).toEqual([]);
    for (const ownedAtMs of [T0 + 49_000, null]) {
      expect(kinds({ faults: [fault({ ...times, ownedAtMs })] })).toEqual([
        'shards without an owner long after a fault',
      ]);
    }
  });
});
