// Missed occurrences: each nominal time is published or skipped exactly once, never early, however the work is cut into calls.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextFire, nextFireWithin } from '../../../src/domain/cron/next-fire.js';
import { parseCron } from '../../../src/domain/cron/parse.js';
import {
  DEFAULT_MISFIRE_WINDOW_MS,
  MAX_SKIPPED_ROWS,
  parseMisfire,
  planFire,
  type PlanFireInput,
  type PlannedOccurrence,
} from '../../../src/domain/misfire.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const T0 = Date.parse('2026-03-02T00:00:00Z');

function input(cron: string, over: Partial<PlanFireInput>): PlanFireInput {
  const expression = parseCron(cron);
  return {
    expression,
    anchorMs: T0,
    nextFireAtMs: nextFire(expression, T0, T0)!.atMs,
    nowMs: T0,
    misfire: parseMisfire('once'),
    startAtMs: null,
    endAtMs: null,
    maxOccurrences: 1000,
    ...over,
  };
}

/** Plans again and again at one time, as the actor does, until nothing is due. */
function planAll(first: PlanFireInput): { occurrences: PlannedOccurrence[]; nextFireAtMs: number | null } {
  const occurrences: PlannedOccurrence[] = [];
  let nextFireAtMs: number | null = first.nextFireAtMs;
  while (nextFireAtMs !== null) {
    const plan = planFire({ ...first, nextFireAtMs });
    expect(plan.occurrences.length).toBeLessThanOrEqual(first.maxOccurrences);
    occurrences.push(...plan.occurrences);
    nextFireAtMs = plan.nextFireAtMs;
    if (plan.occurrences.length === 0 || (nextFireAtMs !== null && nextFireAtMs > first.nowMs)) break;
  }
  return { occurrences, nextFireAtMs };
}

const show = ({ action, atMs }: PlannedOccurrence): string => `${action} +${(atMs - T0) / HOUR_MS}h`;

describe('policies', () => {
  const hourly = { nowMs: T0 + 4.5 * HOUR_MS };

  it('publishes what is on time, whatever the policy', () => {
    for (const policy of ['skip', 'once', 'all']) {
      const plan = planFire(input('0 * * * *', { nowMs: T0 + HOUR_MS + MINUTE_MS, misfire: parseMisfire(policy) }));
      expect(plan).toEqual({
        occurrences: [{ action: 'publish', atMs: T0 + HOUR_MS }],
        nextFireAtMs: T0 + 2 * HOUR_MS,
      });
    }
  });

  it('skip leaves a skipped row for each missed time', () => {
    const plan = planFire(input('0 * * * *', { ...hourly, misfire: parseMisfire('skip') }));
    expect(plan.occurrences.map(show)).toEqual(['skip +1h', 'skip +2h', 'skip +3h', 'skip +4h']);
    expect(plan.occurrences[0]).toEqual({ action: 'skip', reason: 'misfire', atMs: T0 + HOUR_MS });
    expect(plan.nextFireAtMs).toBe(T0 + 5 * HOUR_MS);
  });

  it('once publishes the latest missed time and skips the earlier ones', () => {
    const plan = planFire(input('0 * * * *', hourly));
    expect(plan.occurrences.map(show)).toEqual(['skip +1h', 'skip +2h', 'skip +3h', 'publish +4h']);
  });

  it('all publishes what lies within the window', () => {
    const plan = planFire(input('0 * * * *', { ...hourly, misfire: parseMisfire('all; window=2h') }));
    expect(plan.occurrences.map(show)).toEqual(['skip +1h', 'skip +2h', 'publish +3h', 'publish +4h']);
  });

  it('plans nothing before its time', () => {
    expect(planFire(input('0 * * * *', { nowMs: T0 + HOUR_MS - 1 }))).toEqual({
      occurrences: [],
      nextFireAtMs: T0 + HOUR_MS,
    });
  });

  it('takes times before the start and after the end for no occurrences at all', () => {
    const bounds = { startAtMs: T0 + 2 * HOUR_MS, endAtMs: T0 + 4 * HOUR_MS };
    const plan = planFire(input('0 * * * *', { ...hourly, ...bounds, misfire: parseMisfire('all') }));
    expect(plan.occurrences.map(show)).toEqual(['publish +2h', 'publish +3h', 'publish +4h']);
    expect(plan.nextFireAtMs).toBeNull();
    expect(planFire(input('0 * * * *', { ...hourly, endAtMs: T0 + HOUR_MS - 1 }))).toEqual({
      occurrences: [],
      nextFireAtMs: null,
    });
  });

  it('goes on where a full batch stopped', () => {
    const plan = planFire(input('0 * * * *', { ...hourly, misfire: parseMisfire('all'), maxOccurrences: 2 }));
    expect(plan.occurrences.map(show)).toEqual(['publish +1h', 'publish +2h']);
    expect(plan.nextFireAtMs).toBe(T0 + 3 * HOUR_MS);
  });

  it('sums up the older part of an enormous backlog in one row, quickly', () => {
    const startedMs = performance.now();
    const nowMs = T0 + 7 * DAY_MS;
    const { occurrences, nextFireAtMs } = planAll(input('* * * * * *', { nowMs, misfire: parseMisfire('skip') }));
    expect(performance.now() - startedMs).toBeLessThan(1000);
    const graceMs = MINUTE_MS;
    expect(occurrences[0]).toEqual({
      action: 'skip',
      reason: 'misfire',
      atMs: T0 + 1000,
      coversUntilMs: nowMs - graceMs - (MAX_SKIPPED_ROWS + 1) * 1000,
    });
    // The newest skipped times have their own rows; what is within the grace is published.
    expect(occurrences.filter(({ action }) => action === 'skip')).toHaveLength(1 + MAX_SKIPPED_ROWS);
    expect(occurrences.filter(({ action }) => action === 'publish')).toHaveLength(61);
    expect(nextFireAtMs).toBe(nowMs + 1000);
  });

  it('resumes from now and leaves what was missed alone', () => {
    const expression = parseCron('0 * * * *');
    expect(nextFireWithin(expression, { afterMs: T0 + 4.5 * HOUR_MS })).toBe(T0 + 5 * HOUR_MS);
  });
});

describe('every nominal time is covered exactly once', () => {
  const CRONS = ['* * * * *', '*/7 * * * *', '*/20 * * * * *', '13 */3 * * *', '0 0 * * 1', '* 3 * * *', '@every 97s'];

  it('by publish or skip, in order, never early, the same for every batch size', () => {
    fc.assert(
      fc.property(
        fc.record({
          cron: fc.constantFrom(...CRONS),
          lateMs: fc.integer({ min: 0, max: 3 * DAY_MS }),
          policy: fc.constantFrom('skip', 'once', 'all', 'all; window=1h', 'all; window=2s'),
          graceMs: fc.constantFrom(0, 1000, MINUTE_MS, 2 * HOUR_MS),
          start: fc.option(fc.integer({ min: -HOUR_MS, max: 2 * DAY_MS })),
          end: fc.option(fc.integer({ min: 0, max: 4 * DAY_MS })),
          batch: fc.integer({ min: 1, max: 700 }),
        }),
        ({ cron, lateMs, policy, graceMs, start, end, batch }) => {
          const base = input(cron, {
            misfire: parseMisfire(policy),
            misfireGraceMs: graceMs,
            startAtMs: start === null ? null : T0 + start,
            endAtMs: end === null ? null : T0 + end,
          });
          const nowMs = base.nextFireAtMs + lateMs;
          const plan = planAll({ ...base, nowMs, maxOccurrences: batch });

          const expected: number[] = [];
          let atMs: number | null = base.nextFireAtMs;
          while (atMs !== null && atMs <= nowMs && !(end !== null && atMs > T0 + end)) {
            if (start === null || atMs >= T0 + start) expected.push(atMs);
            atMs = nextFire(base.expression, atMs, T0)?.atMs ?? null;
          }

          const missed = expected.filter((time) => nowMs - time > graceMs);
          const windowMs = policy.includes('window') ? base.misfire.windowMs : DEFAULT_MISFIRE_WINDOW_MS;
          const published = expected.filter(
            (time) =>
              nowMs - time <= graceMs ||
              (policy === 'once' && time === missed.at(-1)) ||
              (policy.startsWith('all') && nowMs - time <= windowMs),
          );
          expect(plan.occurrences.filter(({ action }) => action === 'publish').map((one) => one.atMs)).toEqual(
            published,
          );

          const covered = plan.occurrences.flatMap((one) =>
            one.action === 'skip' && one.coversUntilMs !== undefined
              ? expected.filter((time) => time >= one.atMs && time <= (one.coversUntilMs ?? 0))
              : [one.atMs],
          );
          expect(covered).toEqual(expected);
          expect(plan.occurrences.length).toBeLessThanOrEqual(published.length + MAX_SKIPPED_ROWS + 1);

          const ended = plan.nextFireAtMs === null;
          if (!ended) expect(plan.nextFireAtMs).toBeGreaterThan(Math.max(expected.at(-1) ?? 0, nowMs));
          else expect(end).not.toBeNull();
        },
      ),
      { numRuns: 300, seed: 20260308 },
    );
  }, 30_000);

  it('also when the clock moves on between the batches', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...CRONS),
        fc.constantFrom('skip', 'once', 'all', 'all; window=10m'),
        fc.array(fc.tuple(fc.integer({ min: 0, max: 6 * HOUR_MS }), fc.integer({ min: 1, max: 40 })), {
          maxLength: 30,
        }),
        (cron, policy, steps) => {
          const base = input(cron, { misfire: parseMisfire(policy) });
          let nowMs = T0;
          let position = base.nextFireAtMs;
          let expectedMs: number | null = base.nextFireAtMs;
          for (const [passedMs, maxOccurrences] of steps) {
            nowMs += passedMs;
            const plan = planFire({ ...base, nowMs, nextFireAtMs: position, maxOccurrences });
            for (const one of plan.occurrences) {
              expect(one.atMs).toBe(expectedMs);
              expect(one.atMs).toBeLessThanOrEqual(nowMs);
              const lastMs: number = (one.action === 'skip' ? one.coversUntilMs : undefined) ?? one.atMs;
              // The end of a summary is itself a nominal time.
              expect(nextFire(base.expression, lastMs - 1, T0)?.atMs).toBe(lastMs);
              expectedMs = nextFire(base.expression, lastMs, T0)?.atMs ?? null;
            }
            expect(plan.nextFireAtMs).toBe(expectedMs);
            position = plan.nextFireAtMs!;
          }
        },
      ),
      { numRuns: 200, seed: 557 },
    );
  }, 30_000);
});

describe('the header', () => {
  it('is read', () => {
    expect(parseMisfire('skip').policy).toBe('skip');
    expect(parseMisfire(' Once ').policy).toBe('once');
    expect(parseMisfire('all')).toEqual({ policy: 'all', windowMs: DEFAULT_MISFIRE_WINDOW_MS });
    expect(parseMisfire('all; window=6h')).toEqual({ policy: 'all', windowMs: 6 * HOUR_MS });
    expect(parseMisfire('all;window = 1d12h').windowMs).toBe(36 * HOUR_MS);
  });

  it.each([
    ['', 'Carillon-Misfire: expected skip, once, all or "all; window=6h", got ""'],
    ['never', 'got "never"'],
    ['once; window=6h', 'only "all" has a window'],
    ['all; widow=6h', 'expected one parameter, window=<duration>, got "widow=6h"'],
    ['all; window=6h; window=7h', 'expected one parameter'],
    ['all; window=soon', 'Carillon-Misfire window: expected a duration'],
    ['all; window=400d', 'Carillon-Misfire window: must be at most 31d'],
  ])('%j is refused', (text, why) => {
    expect(() => parseMisfire(text)).toThrow(why);
  });
});
