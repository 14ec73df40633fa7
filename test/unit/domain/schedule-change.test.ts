// What saving, pausing and resuming do to a schedule: nothing is lost, nothing fires twice, and equal is equal.

import { describe, expect, it } from 'vitest';
import type { Schedule, ScheduleDefinition } from '../../../src/domain/schedule.js';
import { sameDefinition, stateAfterResume, stateAfterSave } from '../../../src/domain/schedule-change.js';

const MINUTE = 60_000;
const nowMs = Date.UTC(2026, 5, 1, 12, 0, 30);
const minuteMs = Date.UTC(2026, 5, 1, 12, 1);

function definition(given: Partial<ScheduleDefinition> = {}): ScheduleDefinition {
  return {
    destination: 'http://a.test/hook',
    method: 'POST',
    headers: { 'Content-Type': ['text/plain'], 'X-A': ['1', '2'] },
    body: Buffer.from('body'),
    maxRetries: 3,
    retryDelay: null,
    timeoutMs: 30_000,
    callback: null,
    failureCallback: null,
    labels: ['a', 'b'],
    redact: null,
    callerIp: '203.0.113.1',
    cron: '* * * * *',
    timeZone: null,
    delayMs: 0,
    misfire: 'once',
    misfireWindowMs: 60_000,
    overlap: 'allow',
    windowMs: 0,
    startAtMs: null,
    endAtMs: null,
    keyTemplate: null,
    anchorMs: null,
    ...given,
  };
}

function schedule(given: Partial<Schedule> = {}): Schedule {
  return {
    ...definition(),
    tenantId: 1,
    id: 's',
    shard: 0,
    generation: 1,
    state: 'active',
    anchorMs: nowMs - 10 * MINUTE,
    createdAtMs: nowMs - 10 * MINUTE,
    updatedAtMs: nowMs - 10 * MINUTE,
    nextFireAtMs: minuteMs,
    lastFireAtMs: minuteMs - MINUTE,
    ...given,
  };
}

describe('an anchor that is given', () => {
  // Issue 11, B6.
  it('is what @every counts from; one that is not given is the one that is there', () => {
    const every = definition({ cron: '@every 90s' });
    const there = schedule({ ...every, anchorMs: nowMs - 100_000 });
    expect(sameDefinition(there, every)).toBe(true);
    expect(sameDefinition(there, { ...every, anchorMs: there.anchorMs })).toBe(true);
    const moved = { ...every, anchorMs: nowMs - 30_000 };
    expect(sameDefinition(there, moved)).toBe(false);
    expect(stateAfterSave(there, moved, nowMs).nextFireAtMs).toBe(nowMs + 60_000);
    expect(stateAfterSave(null, moved, nowMs).nextFireAtMs).toBe(nowMs + 60_000);
  });
});

describe('saving', () => {
  it('a new schedule makes it active at its next time', () => {
    expect(stateAfterSave(null, definition(), nowMs)).toEqual({ state: 'active', nextFireAtMs: minuteMs });
  });

  it('counts an interval from the creation, whenever it is saved again', () => {
    const every = definition({ cron: '@every 7m' });
    const anchorMs = nowMs - 10 * MINUTE;
    const next = { state: 'active', nextFireAtMs: nowMs + 4 * MINUTE };
    expect(stateAfterSave(null, { ...every, anchorMs }, nowMs)).toEqual(next);
    expect(stateAfterSave(schedule(), every, nowMs)).toEqual(next);
  });

  it('with the same calendar leaves an occurrence that is due this moment in its place', () => {
    const due = schedule({ nextFireAtMs: minuteMs - 5 * MINUTE });
    const edited = definition({ body: Buffer.from('another') });
    expect(stateAfterSave(due, edited, nowMs)).toEqual({
      state: 'active',
      nextFireAtMs: minuteMs - 5 * MINUTE,
    });
  });

  it.each([
    { cron: '*/2 * * * *' },
    { timeZone: 'Asia/Kolkata' },
    { startAtMs: nowMs },
    { endAtMs: nowMs + 60 * MINUTE },
  ])('with another calendar (%o) counts from now', (given) => {
    const due = schedule({ nextFireAtMs: minuteMs - 5 * MINUTE });
    const { nextFireAtMs } = stateAfterSave(due, definition(given), nowMs);
    expect(nextFireAtMs).toBeGreaterThan(nowMs);
  });

  it('never comes back to an occurrence that was fired, though the clock of this node is behind', () => {
    const fired = schedule({ lastFireAtMs: minuteMs });
    const { nextFireAtMs } = stateAfterSave(fired, definition({ cron: '* * * * * *' }), nowMs);
    expect(nextFireAtMs).toBe(minuteMs + 1_000);
  });

  it('leaves what is paused paused, and takes up what had ended', () => {
    const edited = definition({ cron: '*/5 * * * *' });
    const paused = schedule({ state: 'paused', nextFireAtMs: null });
    expect(stateAfterSave(paused, edited, nowMs)).toEqual({ state: 'paused', nextFireAtMs: null });
    const ended = schedule({ state: 'ended', nextFireAtMs: null });
    expect(stateAfterSave(ended, edited, nowMs)).toMatchObject({ state: 'active' });
  });

  it('refuses what can never fire, what has no time left, and what cannot be read', () => {
    const save = (given: Partial<ScheduleDefinition>) => () => stateAfterSave(null, definition(given), nowMs);
    expect(save({ cron: '0 0 30 2 *' })).toThrow(/never/);
    expect(save({ endAtMs: nowMs })).toThrow(/no occurrence left/);
    expect(save({ cron: '61 * * * *' })).toThrow(expect.objectContaining({ code: 'INVALID_CRON' }));
    expect(save({ timeZone: 'Mars/Olympus' })).toThrow(expect.objectContaining({ code: 'INVALID_CRON' }));
  });

  it('keeps the bounds, inclusive at both ends', () => {
    const from = (given: Partial<ScheduleDefinition>): number | null =>
      stateAfterSave(null, definition(given), nowMs).nextFireAtMs;
    expect(from({ startAtMs: minuteMs + 5 * MINUTE })).toBe(minuteMs + 5 * MINUTE);
    expect(from({ startAtMs: minuteMs + 5 * MINUTE + 1 })).toBe(minuteMs + 6 * MINUTE);
    expect(from({ endAtMs: minuteMs })).toBe(minuteMs);
  });
});

describe('resuming', () => {
  it('goes on with the next time from now, and catches nothing up (report 11)', () => {
    const paused = schedule({ state: 'paused', nextFireAtMs: null, lastFireAtMs: minuteMs - 90 * MINUTE });
    expect(stateAfterResume(paused, nowMs)).toEqual({ state: 'active', nextFireAtMs: minuteMs });
  });

  it('after the last occurrence ends the schedule', () => {
    const paused = schedule({ state: 'paused', nextFireAtMs: null, endAtMs: nowMs - 1 });
    expect(stateAfterResume(paused, nowMs)).toEqual({ state: 'ended', nextFireAtMs: null });
  });
});

describe('two definitions', () => {
  it('are the same whatever order their maps came in, and whoever saved them', () => {
    const callback = {
      url: 'http://a.test',
      method: null,
      headers: { B: ['2'], A: ['1'] },
      retries: 1,
      retryDelay: null,
      timeoutMs: null,
      delayMs: null,
    };
    const other = {
      ...Object.fromEntries(Object.entries(callback).reverse()),
      headers: { A: ['1'], B: ['2'] },
    } as unknown as typeof callback;
    const one = definition({ callback });
    const same = definition({
      callback: other,
      headers: { 'X-A': ['1', '2'], 'Content-Type': ['text/plain'] },
      callerIp: '198.51.100.7',
    });
    expect(sameDefinition(one, same)).toBe(true);
  });

  it('are different as soon as one thing is', () => {
    const callback = {
      url: 'u',
      method: null,
      headers: {},
      retries: null,
      retryDelay: null,
      timeoutMs: null,
      delayMs: null,
    };
    const changes: Partial<ScheduleDefinition>[] = [
      { destination: 'http://b.test' },
      { method: 'PUT' },
      { headers: { 'X-A': ['2', '1'], 'Content-Type': ['text/plain'] } },
      { body: Buffer.from('other') },
      { maxRetries: 4 },
      { retryDelay: '1000' },
      { timeoutMs: 1 },
      { callback },
      { failureCallback: callback },
      { labels: ['b', 'a'] },
      { redact: 'body' },
      { cron: '*/1 * * * *' },
      { timeZone: 'UTC' },
      { delayMs: 1 },
      { misfire: 'all' },
      { misfireWindowMs: 1 },
      { overlap: 'skip' },
      { windowMs: 1 },
      { startAtMs: 1 },
      { endAtMs: 1 },
      { keyTemplate: 'k' },
      { anchorMs: 1 },
    ];
    for (const change of changes) {
      expect(sameDefinition(definition(), definition(change)), JSON.stringify(change)).toBe(false);
      expect(sameDefinition(definition(change), definition(change))).toBe(true);
    }
    // Each of them is looked at: but for whose request it was.
    expect(new Set(changes.flatMap((change) => Object.keys(change)))).toEqual(
      new Set(Object.keys(definition()).filter((name) => name !== 'callerIp')),
    );
  });
});

// Issue 13, 5: found by the simulation. What was due by the later change was recorded as passed over, and then fired.
describe('a change that is committed after one that began later', () => {
  const updatedAtMs = nowMs + 2 * MINUTE;
  const afterThat = minuteMs + 2 * MINUTE;

  it('counts a new calendar from that one', () => {
    const existing = schedule({ cron: '*/5 * * * *', updatedAtMs });
    expect(stateAfterSave(existing, definition(), nowMs)).toEqual({ state: 'active', nextFireAtMs: afterThat });
  });

  it('resumes after that one', () => {
    const paused = schedule({ state: 'paused', nextFireAtMs: null, updatedAtMs });
    expect(stateAfterResume(paused, nowMs)).toEqual({ state: 'active', nextFireAtMs: afterThat });
  });
});
