// The chaos checker sees epochs that go back, claims under an old epoch, shards that stay alone, and how long changes of owner took.

import { describe, expect, it } from 'vitest';
import { readClaim } from '../../../scripts/chaos/claims-monitor.js';
import { judgeOwnership } from '../../../scripts/chaos/check/ownership.js';
import { judgeRun } from '../../../scripts/chaos/check/verdict.js';
import { inodeOf } from '../../../scripts/chaos/socket-owner.js';
import { UNHANDLED_REJECTION } from '../../../src/telemetry/logger.js';
import { goodRun, life, T0 } from './evidence-builder.js';

const ONE = 'node-1-00000001';
const TWO = 'node-2-00000002';
const granted = { shard: 0, epoch: 1, node: ONE, atMs: T0 };
const killed = life('node-1', 1, { endedBy: 'SIGKILL', signaledAtMs: T0 + 10_000, endedAtMs: T0 + 10_001 });
const lives = [killed, life('node-2', 2)];
const kinds = (findings: readonly { kind: string }[]): string[] => findings.map(({ kind }) => kind);

describe('failover', () => {
  it('is measured from the kill to the next grant of each shard', () => {
    const grants = [granted, { ...granted, epoch: 2, node: TWO, atMs: T0 + 14_600 }];
    const verdict = judgeOwnership(goodRun({ grants, lives }));
    expect(verdict.failoverMs).toMatchObject({ count: 1, max: 4_600 });
    expect(verdict).toMatchObject({ movedAtMs: [T0 + 14_600], ownerless: [], epochFaults: [] });
  });

  it('that never comes, or takes too long, is a fault', () => {
    expect(kinds(judgeOwnership(goodRun({ grants: [granted], lives })).ownerless)).toEqual([
      'a shard that nobody took after its owner died',
    ]);
    const grants = [granted, { ...granted, epoch: 2, node: TWO, atMs: T0 + 30_000 }];
    expect(kinds(judgeOwnership(goodRun({ grants, lives })).ownerless)).toEqual([
      'a shard that was taken late after its owner died',
    ]);
  });
});

describe('handover', () => {
  it('is measured from the moment the owner began to give', () => {
    const grants = [granted, { ...granted, epoch: 2, node: TWO, atMs: T0 + 20_060 }];
    const given = { level: 30, msg: 'shards handed over', atMs: T0 + 20_030, fields: { shards: [0], durationMs: 20 } };
    const events = [{ ...given, node: 'node-1', identity: ONE }];
    expect(judgeOwnership(goodRun({ grants, events })).handoverMs).toMatchObject({ count: 1, max: 50 });
  });
});

describe('an epoch', () => {
  it('that does not rise is a fault', () => {
    const grants = [
      { ...granted, epoch: 7 },
      { ...granted, epoch: 7, node: TWO, atMs: T0 + 5_000 },
    ];
    const { epochFaults } = judgeOwnership(goodRun({ grants, claims: [] }));
    expect(kinds(epochFaults)).toEqual(['an epoch that did not rise']);
  });

  it('that claims after a newer one is a fault', () => {
    const grants = [granted, { ...granted, epoch: 2, node: TWO, atMs: T0 + 5_000 }];
    const claims = [1, 2, 1].map((epoch, index) => ({ shard: 0, epoch, atMs: T0 + 6_000 + index }));
    const { epochFaults } = judgeOwnership(goodRun({ grants, claims }));
    expect(epochFaults).toMatchObject([{ kind: 'a claim with an old epoch', count: 1 }]);
  });

  it('that PostgreSQL never granted is a fault', () => {
    const claims = [{ shard: 0, epoch: 3, atMs: T0 + 6_000 }];
    expect(kinds(judgeOwnership(goodRun({ claims })).epochFaults)).toEqual([
      'a claim with an epoch that was never granted',
    ]);
  });
});

describe('a shard', () => {
  it('that nobody ever had is a fault', () => {
    expect(kinds(judgeOwnership(goodRun({ shards: 2 })).ownerless)).toEqual(['a shard that nobody ever had']);
  });

  it('without an owner at the end is a fault', () => {
    const samples = [{ atMs: T0, idleSchedules: [], queuedBeyondHorizon: [], orphanShards: 3 }];
    expect(kinds(judgeOwnership(goodRun({ samples })).ownerless)).toEqual(['shards without an owner at the end']);
  });
});

describe('the whole verdict', () => {
  it('passes a good run', () => {
    expect(judgeRun(goodRun())).toMatchObject({
      passed: true,
      due: 1,
      delivered: 1,
      lost: 0,
      duplicates: 0,
      wrong: [],
    });
  });

  it('fails a run in which a node ended by itself, stopped badly or crashed', () => {
    const bad = [
      life('node-1', 1, { endedAtMs: T0, exitCode: 1 }),
      life('node-2', 2, { endedAtMs: T0, endedBy: 'SIGTERM', exitCode: 1 }),
    ];
    const crash = { node: 'node-2', identity: TWO, level: 60, msg: 'TypeError: x', atMs: 0, fields: {} };
    const unhandled = { ...crash, level: 50, msg: UNHANDLED_REJECTION };
    const verdict = judgeRun(goodRun({ lives: bad, events: [crash, unhandled] }));
    expect(kinds(verdict.wrong)).toEqual([
      'a node that ended by itself',
      'a node that did not stop in order',
      'a crash in the log',
      'a promise that nobody handled',
    ]);
  });

  it('fails a run that never recovered, or queued work beyond the horizon', () => {
    const fault = { kind: 'flush-redis' as const, nodes: [], detail: 'FLUSHALL', startedAtMs: T0, endedAtMs: T0 };
    const samples = [{ atMs: T0, idleSchedules: [], queuedBeyondHorizon: ['x'], orphanShards: 0 }];
    const verdict = judgeRun(goodRun({ faults: [{ ...fault, recoveredAtMs: null }], samples }));
    expect(kinds(verdict.wrong)).toEqual(['no recovery', 'in Redis although it is due beyond the horizon']);
  });
});

describe("what machines' own logs say", () => {
  it('is read from MONITOR only where a claim was carried out', () => {
    const at = '1796000000.123456';
    const id = '019ad0f0-0000-7000-8000-000000000000';
    expect(readClaim(`+${at} [0 lua] "HSET" "carillon:{12}:task" "${id}" "5.17.1" "x" "5.17.2"`)).toEqual({
      shard: 12,
      epoch: 5,
      atMs: 1_796_000_000_123,
    });
    expect(readClaim(`+${at} [0 lua] "HSET" "carillon:{12}:task" "${id}" "{\\"a\\":1}"`)).toBeNull();
    expect(readClaim(`+${at} [0 127.0.0.1:5] "EVALSHA" "f" "4" "carillon:{12}:due" "x"`)).toBeNull();
  });

  it("is read from the kernel's table of sockets", () => {
    const table =
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n' +
      '   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  0  0 111 1 x 20 4 30 10 -1\n' +
      '   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  0  0 222 1 x 20 4 30 10 -1\n';
    expect(inodeOf(table, 50_000, 8_080)).toBe('222');
    expect(inodeOf(table, 50_001, 8_080)).toBeNull();
  });
});
