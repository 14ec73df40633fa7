// What a due schedule turns into: messages with their ids, due times and keys, skipped rows with reasons, and those that wait.

import { describe, expect, it } from 'vitest';
import { manualMessage, occurrenceMessage, planOccurrences } from '../../../src/domain/occurrence.js';
import { occurrenceMessageId } from '../../../src/domain/ids.js';
import type { Schedule } from '../../../src/domain/schedule.js';
import { shardOfMessage } from '../../../src/domain/shard.js';
import { spreadOffsetMs } from '../../../src/domain/spread-window.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const nowMs = Date.UTC(2026, 5, 1, 12, 0, 5);
const lastMs = Date.UTC(2026, 5, 1, 12, 0);
const settings = { misfireGraceMs: MINUTE, maxOccurrences: 100, maxWaiting: 2 };
const idle = { underWay: false, waiting: 0 };

function schedule(given: Partial<Schedule> = {}): Schedule {
  return {
    tenantId: 4,
    id: 'each-minute',
    shard: 11,
    generation: 1,
    state: 'active',
    anchorMs: 0,
    createdAtMs: 0,
    updatedAtMs: 0,
    nextFireAtMs: lastMs,
    lastFireAtMs: null,
    destination: 'http://a.test/hook',
    method: 'PUT',
    headers: { 'X-A': ['1'] },
    body: Buffer.from([0, 255]),
    maxRetries: 7,
    retryDelay: '1000',
    timeoutMs: 4_000,
    callback: null,
    failureCallback: null,
    labels: ['l'],
    redact: 'body',
    callerIp: '203.0.113.1',
    cron: '* * * * *',
    timeZone: null,
    delayMs: 0,
    misfire: 'all',
    misfireWindowMs: 24 * HOUR,
    overlap: 'allow',
    windowMs: 0,
    startAtMs: null,
    endAtMs: null,
    keyTemplate: null,
    ...given,
  };
}

/** One letter for each occurrence: published, held or skipped. */
function shape(given: Partial<Schedule>, unfinished = idle): string {
  return planOccurrences(schedule(given), unfinished, settings, nowMs)
    .occurrences.map(({ held, skipped }) => (skipped === null ? (held ? 'h' : 'p') : 's'))
    .join('');
}

describe('an occurrence', () => {
  it('carries what the schedule says, in the schedule’s shard', () => {
    const source = schedule();
    expect(occurrenceMessage(source, lastMs, nowMs)).toEqual({
      id: occurrenceMessageId(4, 'each-minute', lastMs, lastMs),
      tenantId: 4,
      shard: 11,
      kind: 'occurrence',
      scheduleId: 'each-minute',
      occurrenceAtMs: lastMs,
      idempotencyKey: null,
      sourceId: null,
      overlap: null,
      dueAtMs: lastMs,
      createdAtMs: nowMs,
      destination: source.destination,
      method: 'PUT',
      headers: source.headers,
      body: source.body,
      maxRetries: 7,
      retryDelay: '1000',
      timeoutMs: 4_000,
      callback: null,
      failureCallback: null,
      labels: ['l'],
      redact: 'body',
      callerIp: '203.0.113.1',
    });
  });

  it('is due at its place in the window plus the delay, and its id says so', () => {
    const source = schedule({ windowMs: HOUR, delayMs: 5_000 });
    const message = occurrenceMessage(source, lastMs, nowMs);
    const dueAtMs = lastMs + spreadOffsetMs('4', 'each-minute', HOUR) + 5_000;
    expect(message.dueAtMs).toBe(dueAtMs);
    expect(message.id).toBe(occurrenceMessageId(4, 'each-minute', lastMs, dueAtMs));
  });

  it('has the key of its nominal time by the schedule’s wall clock', () => {
    const source = schedule({ keyTemplate: 'k:{yyyy-MM-dd HH:mm}'.replace(' ', 'T'), timeZone: 'Asia/Kolkata' });
    expect(occurrenceMessage(source, lastMs, nowMs).idempotencyKey).toBe('k:2026-06-01T17:30');
  });
});

describe('a run by hand', () => {
  it('is due now, off the grid, without key and policies, in a shard of its own', () => {
    const source = schedule({ keyTemplate: 'k', overlap: 'queue', windowMs: HOUR, delayMs: 5_000 });
    const message = manualMessage(source, nowMs, new Uint8Array(10).fill(9), 256);
    expect(message).toMatchObject({
      kind: 'manual',
      scheduleId: 'each-minute',
      occurrenceAtMs: null,
      idempotencyKey: null,
      overlap: null,
      dueAtMs: nowMs,
      shard: shardOfMessage(message.id, 256),
      destination: source.destination,
    });
  });
});

describe('a plan', () => {
  it('of one occurrence on time publishes it and goes on to the next', () => {
    const plan = planOccurrences(schedule(), idle, settings, nowMs);
    expect(plan).toMatchObject({
      occurrences: [{ message: { occurrenceAtMs: lastMs }, held: false, skipped: null }],
      nextFireAtMs: lastMs + MINUTE,
      lastFireAtMs: lastMs,
    });
  });

  it('of many says where it came to and where to go on', () => {
    const many = schedule({ nextFireAtMs: lastMs - 500 * MINUTE });
    const plan = planOccurrences(many, idle, settings, nowMs);
    expect(plan.occurrences).toHaveLength(100);
    expect(plan.lastFireAtMs).toBe(lastMs - 401 * MINUTE);
    expect(plan.nextFireAtMs).toBe(lastMs - 400 * MINUTE);
  });

  it('that sums up skipped times has handled the last of them', () => {
    const long = schedule({ nextFireAtMs: lastMs - 3_000 * MINUTE, misfire: 'skip' });
    const plan = planOccurrences(long, idle, { ...settings, maxOccurrences: 1 }, nowMs);
    const [row] = plan.occurrences;
    expect(row?.skipped).toMatchObject({ reason: 'misfire' });
    expect(plan.lastFireAtMs).toBe(row?.skipped?.coversUntilMs);
    expect(plan.nextFireAtMs).toBe(plan.lastFireAtMs + MINUTE);
  });

  it('after the end has nothing and no next time', () => {
    const plan = planOccurrences(schedule({ endAtMs: lastMs - 1 }), idle, settings, nowMs);
    expect(plan).toMatchObject({ occurrences: [], nextFireAtMs: null });
  });

  it('without a next time is a bug of ours', () => {
    expect(() => planOccurrences(schedule({ nextFireAtMs: null }), idle, settings, nowMs)).toThrow(/invariant/);
  });
});

describe('overlap', () => {
  const late = { nextFireAtMs: lastMs - 4 * MINUTE };

  it('"allow" publishes all', () => {
    expect(shape({ ...late, overlap: 'allow' }, { underWay: true, waiting: 9 })).toBe('ppppp');
  });

  it('"skip" publishes the first when none is under way, and skips the others with the reason', () => {
    expect(shape({ ...late, overlap: 'skip' })).toBe('pssss');
    expect(shape({ ...late, overlap: 'skip' }, { underWay: true, waiting: 0 })).toBe('sssss');
    const plan = planOccurrences(schedule({ ...late, overlap: 'skip' }), idle, settings, nowMs);
    expect(plan.occurrences[1]?.skipped).toEqual({ reason: 'overlap', coversUntilMs: null });
  });

  it('"queue" holds those after the first, as many as may wait, and skips the rest', () => {
    expect(shape({ ...late, overlap: 'queue' })).toBe('phhss');
    expect(shape({ ...late, overlap: 'queue' }, { underWay: true, waiting: 0 })).toBe('hhsss');
    expect(shape({ ...late, overlap: 'queue' }, { underWay: true, waiting: 2 })).toBe('sssss');
  });

  it('does not count what was skipped for lateness as under way', () => {
    expect(shape({ ...late, overlap: 'skip', misfire: 'skip' })).toBe('ssssp');
    expect(shape({ ...late, overlap: 'queue', misfire: 'once' })).toBe('sssph');
  });
});
