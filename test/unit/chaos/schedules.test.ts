// The chaos checker misses no occurrence of a schedule, and finds those that an edit, a pause or a deletion should have prevented.

import { describe, expect, it } from 'vitest';
import { judgeSchedules } from '../../../scripts/chaos/check/schedules.js';
import type { MessageRecord, ScheduleChange, ScheduleHistory } from '../../../scripts/chaos/evidence.js';
import { goodRun, record, seconds, T0 } from './evidence-builder.js';

const change = (what: ScheduleChange['what'], atSecond: number, version = 1): ScheduleChange => ({
  what,
  version,
  askedAtMs: T0 + 1_000 * atSecond + 300,
  acknowledgedAtMs: T0 + 1_000 * atSecond + 310,
});
const created = change('create', 0);
const history = (changes: ScheduleChange[], more: Partial<ScheduleHistory> = {}): ScheduleHistory => ({
  id: 's',
  periodMs: 1_000,
  onTheClock: true,
  changes,
  ...more,
});
const kinds = (findings: readonly { kind: string }[]): string[] => findings.map(({ kind }) => kind);
const kill = { kind: 'kill' as const, nodes: ['node-1'], detail: '' };

describe('a schedule with all its occurrences', () => {
  it('has nothing wrong', () => {
    const verdict = judgeSchedules(goodRun({ ...seconds('s', 1, 60), schedules: [history([created])] }));
    expect(verdict).toEqual({ occurrences: 60, missing: [], unwanted: [], idle: [], overtaken: 0 });
  });

  it('may have a pause in which nothing happens', () => {
    const before = seconds('s', 1, 20);
    const after = seconds('s', 31, 60);
    const messages = [...before.messages, ...after.messages];
    const schedules = [history([created, change('pause', 20), change('resume', 30)])];
    expect(judgeSchedules(goodRun({ messages, schedules }))).toMatchObject({ missing: [], unwanted: [] });
  });

  it('may have an edit that no occurrence is missing around', () => {
    const messages = [...seconds('s', 1, 20).messages, ...seconds('s', 21, 60, 2).messages];
    const schedules = [history([created, change('edit', 20, 2)])];
    expect(judgeSchedules(goodRun({ messages, schedules }))).toMatchObject({ missing: [], unwanted: [] });
  });

  it('counts from its creation when it is an interval', () => {
    const messages = seconds('s', 1, 60).messages.map((row) => ({ ...row, occurrenceAtMs: row.occurrenceAtMs! + 307 }));
    const schedules = [history([created], { onTheClock: false })];
    expect(judgeSchedules(goodRun({ messages, schedules }))).toMatchObject({ missing: [], unwanted: [] });
  });
});

describe('missing is', () => {
  const lacking = (second: number) =>
    goodRun({
      messages: seconds('s', 1, 60).messages.filter(({ occurrenceAtMs }) => occurrenceAtMs !== T0 + 1_000 * second),
      schedules: [history([created])],
    });

  it('a second in the middle', () => {
    expect(judgeSchedules(lacking(30)).missing).toMatchObject([{ kind: 'a gap', count: 1 }]);
  });

  it('the first one', () => {
    expect(kinds(judgeSchedules(lacking(1)).missing)).toEqual(['the first occurrence']);
  });

  it('the last ones', () => {
    const evidence = goodRun({ ...seconds('s', 1, 55), schedules: [history([created])] });
    expect(kinds(judgeSchedules(evidence).missing)).toEqual(['the last occurrence']);
  });

  it('everything', () => {
    const evidence = goodRun({ messages: [], schedules: [history([created])] });
    expect(kinds(judgeSchedules(evidence).missing)).toEqual(['no occurrence at all']);
  });

  it('what was due before a pause, unless it was late because something was broken', () => {
    const schedules = [history([created, change('pause', 40)])];
    const evidence = goodRun({ ...seconds('s', 1, 35), schedules });
    expect(kinds(judgeSchedules(evidence).missing)).toEqual(['the last occurrence']);
    const faults = [{ ...kill, startedAtMs: T0 + 36_000, endedAtMs: T0 + 36_000, recoveredAtMs: T0 + 42_000 }];
    expect(judgeSchedules({ ...evidence, faults })).toMatchObject({ missing: [], overtaken: 5 });
  });

  it('never what a row for several occurrences stands for', () => {
    const covering = { state: 'skipped', reason: 'misfire', occurrenceAtMs: T0 + 21_000, coversUntilMs: T0 + 39_000 };
    const skipped = record('s/skipped', {
      kind: 'occurrence',
      scheduleId: 's',
      ...covering,
      createdAtMs: T0 + 200_000,
    });
    const messages = [...seconds('s', 1, 20).messages, skipped, ...seconds('s', 40, 60).messages];
    const verdict = judgeSchedules(goodRun({ messages, schedules: [history([created])] }));
    expect(verdict.missing).toEqual([]);
  });
});

describe('unwanted is', () => {
  it('an occurrence while the schedule was paused', () => {
    const schedules = [history([created, change('pause', 20), change('resume', 30)])];
    const verdict = judgeSchedules(goodRun({ ...seconds('s', 1, 60), schedules }));
    expect(verdict.unwanted).toMatchObject([{ kind: 'an occurrence while paused or deleted', count: 10 }]);
  });

  it('an occurrence that was fired after the pause, though its time was before', () => {
    const messages = seconds('s', 1, 20).messages.map((row) =>
      row.occurrenceAtMs === T0 + 20_000 ? { ...row, createdAtMs: T0 + 21_000 } : row,
    );
    const schedules = [history([created, change('pause', 20)])];
    expect(kinds(judgeSchedules(goodRun({ messages, schedules })).unwanted)).toEqual([
      'an occurrence while paused or deleted',
    ]);
  });

  it('an occurrence after the deletion', () => {
    const schedules = [history([created, change('delete', 20)])];
    expect(judgeSchedules(goodRun({ ...seconds('s', 1, 22), schedules })).unwanted).toMatchObject([{ count: 2 }]);
  });

  it('an old version after the edit was acknowledged', () => {
    const schedules = [history([created, change('edit', 20, 2)])];
    const verdict = judgeSchedules(goodRun({ ...seconds('s', 1, 60), schedules }));
    expect(verdict.unwanted).toMatchObject([{ kind: 'an old version after its edit', count: 40 }]);
  });

  it('a version that nobody had asked for yet', () => {
    const schedules = [history([created, change('edit', 20, 2)])];
    const messages = seconds('s', 1, 60, 2).messages;
    const verdict = judgeSchedules(goodRun({ messages, schedules }));
    expect(verdict.unwanted).toMatchObject([{ kind: 'a version before its edit', count: 20 }]);
  });

  it('an occurrence off the grid', () => {
    const messages = seconds('s', 1, 60).messages;
    const odd = { ...messages[30]!, occurrenceAtMs: T0 + 31_250 };
    const schedules = [history([created])];
    const verdict = judgeSchedules(goodRun({ messages: [...messages, odd], schedules }));
    expect(kinds(verdict.unwanted)).toEqual(['an occurrence off the grid']);
  });

  it('a skip by a pause that nobody asked for then, and not one that came with it', () => {
    const messages = (index: number): MessageRecord[] =>
      seconds('s', 1, 20).messages.map((row, at) =>
        at === index ? { ...row, state: 'skipped', reason: 'paused', createdAtMs: row.createdAtMs + 300 } : row,
      );
    const judge = (index: number): string[] =>
      kinds(
        judgeSchedules(goodRun({ messages: messages(index), schedules: [history([created, change('pause', 20)])] }))
          .unwanted,
      );
    expect(judge(19)).toEqual([]);
    expect(judge(5)).toEqual(['an occurrence skipped without cause']);
  });

  it('a skip that no policy allows', () => {
    const messages = seconds('s', 1, 60).messages.map((row, index) =>
      index === 30 ? { ...row, state: 'skipped', reason: 'misfire' } : row,
    );
    const verdict = judgeSchedules(goodRun({ messages, schedules: [history([created])] }));
    expect(kinds(verdict.unwanted)).toEqual(['an occurrence skipped without cause']);
  });
});

describe('a schedule without a next time', () => {
  it('is found by the looks that were taken meanwhile', () => {
    const sample = { atMs: T0 + 9_000, queuedBeyondHorizon: [], orphanShards: 0 };
    const samples = [{ ...sample, idleSchedules: ['s'] }];
    expect(kinds(judgeSchedules(goodRun({ samples })).idle)).toEqual(['active, but no next time']);
  });
});
