// Facts about what follows a failed attempt: the documented backoff, who overrides it, and when it ends.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultBackoffMs, nextRetry, type FailedAttempt } from '../../../src/domain/retry-policy.js';

const NOW_MS = Date.UTC(2026, 2, 8, 7, 0, 0);
const DAY_MS = 86_400_000;

const failed = (changes: Partial<FailedAttempt> = {}): FailedAttempt => ({
  attempt: 1,
  maxRetries: 3,
  retryDelayExpression: null,
  response: { status: 500, headers: {} },
  nowMs: NOW_MS,
  random: 0,
  ...changes,
});
const answer = (headers: Record<string, string[]>, status = 503): FailedAttempt['response'] => ({ status, headers });
const delayOf = (attempt: FailedAttempt): number => {
  const decision = nextRetry(attempt);
  if (decision.kind !== 'retry') throw new Error(decision.kind);
  return decision.delayMs;
};

describe('the default backoff', () => {
  it('is 12 s, 2 min 28 s, 30 min 8 s, 6 h 7 min 6 s, then 24 h', () => {
    const seconds = [1, 2, 3, 4, 5, 6, 1000].map((attempt) => Math.floor(defaultBackoffMs(attempt) / 1000));
    expect(seconds).toEqual([12, 148, 1808, 6 * 3600 + 7 * 60 + 6, 86_400, 86_400, 86_400]);
  });

  it('is spread upwards by less than a second and never beyond 24 h', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempt, random) => {
          const delayMs = delayOf(failed({ attempt, maxRetries: 1000, random }));
          const base = defaultBackoffMs(attempt);
          return Number.isInteger(delayMs) && delayMs >= base && delayMs < base + 1000 && delayMs <= DAY_MS;
        },
      ),
      { seed: 20_260_303 },
    );
  });
});

describe('the end', () => {
  it('comes after the first attempt and all retries, exactly', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.integer({ min: 1, max: 60 }), (maxRetries, attempt) => {
        return nextRetry(failed({ attempt, maxRetries })).kind === (attempt <= maxRetries ? 'retry' : 'exhausted');
      }),
      { seed: 20_260_304 },
    );
    expect(nextRetry(failed({ maxRetries: 0 })).kind).toBe('exhausted');
  });

  it('comes at once with status 489 and Upstash-NonRetryable-Error: true, and with neither alone', () => {
    const header = { 'upstash-nonretryable-error': ['true'] };
    expect(nextRetry(failed({ response: answer(header, 489) })).kind).toBe('non-retryable');
    expect(nextRetry(failed({ attempt: 9, response: answer(header, 489) })).kind).toBe('non-retryable');
    expect(nextRetry(failed({ response: answer(header, 500) })).kind).toBe('retry');
    expect(nextRetry(failed({ response: answer({}, 489) })).kind).toBe('retry');
    expect(nextRetry(failed({ response: answer({ 'upstash-nonretryable-error': ['false'] }, 489) })).kind).toBe(
      'retry',
    );
  });

  it('does not come from a lost connection', () => {
    expect(delayOf(failed({ response: null }))).toBe(defaultBackoffMs(1));
  });
});

describe('the receiver asks for a time', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    ['1.5', 1500],
    [' 7 ', 7000],
    ['86400', DAY_MS],
    ['6m5s', 365_000],
    ['1h', 3_600_000],
    ['8.64s', 8640],
    ['6ms', 6],
    ['1ns', 1],
    ['0s', 0],
    ['Sun, 08 Mar 2026 07:00:30 GMT', 30_000],
    ['Sun, 08 Mar 2026 06:00:00 GMT', 0],
    // Issue 11, B3: GMT whatever the machine's zone is; npm test runs this in two zones.
    ['Sunday, 08-Mar-26 07:00:30 GMT', 30_000],
    ['Sun Mar  8 07:00:30 2026', 30_000],
    ['Sun, 08 Mar 2026 07:00:30', 30_000],
  ])('Retry-After: %s gives %i ms', (value, expected) => {
    expect(delayOf(failed({ response: answer({ 'retry-after': [value] }) }))).toBe(expected);
  });

  it.each([
    '86401',
    '25h',
    'Tue, 10 Mar 2026 07:00:00 GMT',
    '1700000000',
    '-5',
    '',
    'soon',
    '5 minutes',
    '1e3',
    'NaN',
    '2026-03-08',
    '5x',
    '9'.repeat(400),
  ])('Retry-After: %s leaves the default', (value) => {
    expect(delayOf(failed({ response: answer({ 'retry-after': [value] }) }))).toBe(defaultBackoffMs(1));
  });

  it('Retry-After is heard before X-RateLimit-Reset, and of those the longest', () => {
    const resets = {
      'x-ratelimit-reset': ['1'],
      'x-ratelimit-reset-requests': ['8.64s'],
      'x-ratelimit-reset-tokens': ['6ms'],
    };
    expect(delayOf(failed({ response: answer({ 'retry-after': ['3'], ...resets }, 429) }))).toBe(3000);
    expect(delayOf(failed({ response: answer(resets, 429) }))).toBe(8640);
    expect(delayOf(failed({ response: answer({ 'retry-after': ['never'], ...resets }, 429) }))).toBe(8640);
    expect(delayOf(failed({ response: answer({ 'x-ratelimit-reset-tokens': ['2'] }, 429) }))).toBe(2000);
  });

  it('the message’s own expression is heard before the receiver', () => {
    const attempt = failed({
      attempt: 3,
      retryDelayExpression: '1000 * (1 + retried)',
      response: answer({ 'retry-after': ['60'] }),
    });
    expect(delayOf(attempt)).toBe(3000);
  });

  it('an expression that no longer compiles leaves the default instead of an error', () => {
    expect(delayOf(failed({ retryDelayExpression: 'pow(' }))).toBe(defaultBackoffMs(1));
  });

  it('no answer at all makes the delay leave [0, 24 h]', () => {
    const value = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.nat().map((n) => `${n}s`),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(value, value, fc.constantFrom(429, 489, 500, 302), (a, b, status) => {
        const decision = nextRetry(
          failed({ response: answer({ 'retry-after': [a], 'x-ratelimit-reset': [b] }, status) }),
        );
        return (
          decision.kind === 'retry' &&
          Number.isInteger(decision.delayMs) &&
          decision.delayMs >= 0 &&
          decision.delayMs <= DAY_MS
        );
      }),
      { seed: 20_260_305, numRuns: 1000 },
    );
  });
});
