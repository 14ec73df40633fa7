// The chaos checker sees lost, early and double messages, and whatever else the records and the receiver do not agree on.

import { describe, expect, it } from 'vitest';
import { judgeMessages } from '../../../scripts/chaos/check/messages.js';
import { measureLag } from '../../../scripts/chaos/check/lag.js';
import { call, goodRun, publish, record, T0 } from './evidence-builder.js';

const kinds = (findings: readonly { kind: string }[]): string[] => findings.map(({ kind }) => kind);

describe('a good run', () => {
  it('has nothing wrong', () => {
    expect(judgeMessages(goodRun())).toEqual({
      due: 1,
      delivered: 1,
      lost: [],
      early: [],
      doubleRecords: [],
      canceledButDelivered: [],
      contradictions: [],
    });
  });

  it('may have a publish that nobody answered, whether it was taken or not', () => {
    const publishes = [publish('msg_1', 1), publish(null, 2), publish(null, 3)];
    const messages = [record('msg_1'), record('msg_3')];
    const verdict = judgeMessages(goodRun({ publishes, messages, calls: [call('msg_1'), call('msg_3')] }));
    expect(verdict.lost).toEqual([]);
    expect(verdict.due).toBe(2);
  });
});

describe('lost is', () => {
  it('what was accepted and has no record', () => {
    const { lost } = judgeMessages(goodRun({ publishes: [publish('msg_1', 1), publish('msg_2', 2)] }));
    expect(lost).toEqual([{ kind: 'accepted, but no record', count: 1, examples: ['msg_2'] }]);
  });

  it('what never finished', () => {
    const { lost } = judgeMessages(goodRun({ messages: [record('msg_1', { state: 'pending' })] }));
    expect(kinds(lost)).toEqual(['due, but never finished']);
  });

  it('what is recorded as delivered and never arrived, or never got a good answer', () => {
    expect(kinds(judgeMessages(goodRun({ calls: [] })).lost)).toEqual([
      'recorded as delivered, but never answered well',
    ]);
    const failing = [call('msg_1', { status: 500 })];
    expect(kinds(judgeMessages(goodRun({ calls: failing })).lost)).toHaveLength(1);
  });

  it('what was given up although the destination would have answered', () => {
    const messages = [record('msg_1', { state: 'failed', attempts: 4 })];
    const calls = [0, 1, 2, 3].map((retried) => call('msg_1', { retried, status: 500 }));
    expect(kinds(judgeMessages(goodRun({ messages, calls })).lost)).toEqual([
      'given up although the destination answers in the end',
    ]);
    const publishes = [publish('msg_1', 1, { end: 'failed' })];
    expect(judgeMessages(goodRun({ messages, calls, publishes })).lost).toEqual([]);
  });
});

describe('early is', () => {
  it('a call before the due time, by a single millisecond', () => {
    const messages = [record('msg_1', { dueAtMs: T0 + 1_011 })];
    expect(kinds(judgeMessages(goodRun({ messages })).early)).toEqual(['before its due time']);
  });

  it('a retry before its time', () => {
    const failedAttempts = [{ messageId: 'msg_1', attempt: 1, answered: true, nextAttemptAtMs: T0 + 2_000 }];
    const again = call('msg_1', { retried: 1, arrivedAtMs: T0 + 1_999 });
    const calls = [call('msg_1', { status: 500 }), again];
    expect(kinds(judgeMessages(goodRun({ failedAttempts, calls })).early)).toEqual(['before its retry time']);
    const inTime = [call('msg_1', { status: 500 }), { ...again, arrivedAtMs: T0 + 2_000 }];
    expect(judgeMessages(goodRun({ failedAttempts, calls: inTime })).early).toEqual([]);
  });

  it('a call before the delay that the client asked for, whatever the record says', () => {
    const publishes = [publish('msg_1', 1, { delayMs: 2_000 })];
    expect(kinds(judgeMessages(goodRun({ publishes })).early)).toEqual(['before the delay that the client asked for']);
  });
});

describe('double is', () => {
  it('a publish with two records', () => {
    const messages = [record('msg_1'), record('msg_2', { destination: 'http://127.0.0.1:1/message?n=1' })];
    const { doubleRecords } = judgeMessages(goodRun({ messages, calls: [call('msg_1'), call('msg_2')] }));
    expect(kinds(doubleRecords)).toEqual(['one publish, several records']);
  });

  it('an occurrence with two records, or called under two ids', () => {
    const occurrence = {
      kind: 'occurrence',
      scheduleId: 's',
      occurrenceAtMs: T0,
      dueAtMs: T0,
      destination: 'http://x/?v=1',
    };
    const messages = [record('msg_1', occurrence), record('msg_2', occurrence)];
    const calls = messages.map(({ id }) => call(id, { scheduleId: 's', occurrenceAtMs: T0 }));
    expect(kinds(judgeMessages(goodRun({ messages, calls })).doubleRecords)).toEqual([
      'one occurrence, several records',
      'one occurrence, calls under several ids',
    ]);
  });

  it('a message that ended twice', () => {
    const note = { messageId: 'msg_1', state: 'delivered', atMs: T0 + 1_015 };
    const { doubleRecords } = judgeMessages(goodRun({ stateNotes: [note, { ...note, state: 'failed' }] }));
    expect(kinds(doubleRecords)).toEqual(['ended twice']);
  });
});

describe('a cancel', () => {
  const asked = { messageId: 'msg_1', askedAtMs: T0 + 500, acknowledgedAtMs: T0 + 600 };

  it('that was acknowledged allows no call', () => {
    const messages = [record('msg_1', { state: 'canceled', attempts: 0 })];
    expect(kinds(judgeMessages(goodRun({ messages, cancels: [asked] })).canceledButDelivered)).toEqual([
      'called after its cancel',
    ]);
    expect(judgeMessages(goodRun({ messages, cancels: [asked], calls: [] })).canceledButDelivered).toEqual([]);
  });

  it('that was acknowledged must be in the record', () => {
    const { canceledButDelivered } = judgeMessages(goodRun({ cancels: [asked] }));
    expect(kinds(canceledButDelivered)).toContain('canceled, but its record says otherwise');
  });

  it('that came while its call was under way is corrected by a success, and by nothing else', () => {
    const late = { ...asked, askedAtMs: T0 + 1_005, acknowledgedAtMs: T0 + 1_012 };
    const note = { messageId: 'msg_1', state: 'canceled', atMs: T0 + 1_011 };
    const ended = (state: string) => [note, { ...note, state, atMs: T0 + 1_015 }];
    const corrected = judgeMessages(goodRun({ cancels: [late], stateNotes: ended('delivered') }));
    expect([corrected.canceledButDelivered, corrected.doubleRecords]).toEqual([[], []]);
    const failed = judgeMessages(goodRun({ cancels: [late], stateNotes: ended('failed') }));
    expect(kinds(failed.doubleRecords)).toEqual(['ended twice']);
    const before = judgeMessages(goodRun({ cancels: [asked], stateNotes: ended('delivered') }));
    expect(kinds(before.doubleRecords)).toEqual(['ended twice']);
  });

  it('that was not acknowledged leaves both open', () => {
    const cancels = [{ ...asked, acknowledgedAtMs: null }];
    expect(judgeMessages(goodRun({ cancels })).canceledButDelivered).toEqual([]);
    const messages = [record('msg_1', { state: 'canceled', attempts: 0 })];
    expect(judgeMessages(goodRun({ cancels, messages, calls: [] })).canceledButDelivered).toEqual([]);
  });

  it('that nobody asked for is found', () => {
    const messages = [record('msg_1', { state: 'canceled' })];
    const { canceledButDelivered } = judgeMessages(goodRun({ messages, calls: [] }));
    expect(kinds(canceledButDelivered)).toEqual(['canceled although nobody asked']);
  });
});

describe('a contradiction is', () => {
  it('a call without a record', () => {
    const { contradictions } = judgeMessages(goodRun({ calls: [call('msg_1'), call('msg_9')] }));
    expect(kinds(contradictions)).toEqual(['called, but no record']);
  });

  it('more attempts in the record than calls, unless one got no answer', () => {
    const messages = [record('msg_1', { attempts: 2 })];
    expect(kinds(judgeMessages(goodRun({ messages })).contradictions)).toEqual([
      'more attempts recorded than calls received',
    ]);
    const failedAttempts = [{ messageId: 'msg_1', attempt: 1, answered: false, nextAttemptAtMs: null }];
    expect(judgeMessages(goodRun({ messages, failedAttempts })).contradictions).toEqual([]);
  });

  it('giving up before the last retry', () => {
    const messages = [record('msg_1', { state: 'failed', attempts: 1 })];
    const publishes = [publish('msg_1', 1, { end: 'failed' })];
    const { contradictions } = judgeMessages(goodRun({ messages, publishes, calls: [call('msg_1', { status: 500 })] }));
    expect(kinds(contradictions)).toEqual(['given up before its last retry']);
  });
});

describe('lag', () => {
  it('is told apart by whether something was broken when the work was due', () => {
    const messages = [record('msg_1'), record('msg_2', { dueAtMs: T0 + 20_000 })];
    const calls = [call('msg_1'), call('msg_2', { arrivedAtMs: T0 + 26_000 })];
    const fault = { nodes: [], detail: '', startedAtMs: T0 + 19_000, endedAtMs: T0 + 19_000 };
    const faults = [{ ...fault, kind: 'kill' as const, recoveredAtMs: T0 + 27_000 }];
    const lag = measureLag(goodRun({ messages, calls, faults }));
    expect(lag.quiet).toEqual({ count: 1, p50: 10, p99: 10, max: 10 });
    expect(lag.fault).toEqual({ count: 1, p50: 6_000, p99: 6_000, max: 6_000 });
    expect(lag.perFault).toEqual([lag.fault]);
  });

  it('is not measured before the cluster was whole', () => {
    expect(measureLag(goodRun({ wholeAtMs: T0 + 1_001 })).quiet.count).toBe(0);
  });
});
