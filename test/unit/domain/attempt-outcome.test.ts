// What an attempt's result means for its message.

import { describe, expect, it } from 'vitest';
import { judge } from '../../../src/domain/attempt-outcome.js';

const nowMs = 1_795_000_000_000;
const message = { maxRetries: 2, retryDelay: '1500' };
const answer = (status: number, headers: Record<string, string[]> = {}) =>
  ({ kind: 'response', status, headers }) as const;
const error = { kind: 'error' } as const;

describe('a verdict', () => {
  it.each([200, 201, 204, 299])('on a %i is delivered', (status) => {
    expect(judge(message, 1, answer(status), nowMs, 0)).toEqual({ state: 'delivered' });
    expect(judge(message, 99, answer(status), nowMs, 0)).toEqual({ state: 'delivered' });
  });

  it.each([answer(199), answer(300), answer(302), answer(404), answer(500), answer(600), error])(
    'on %o is another attempt while retries are left, then failure',
    (result) => {
      const again = { state: 'pending', nextAttemptAtMs: nowMs + 1_500 };
      expect(judge(message, 1, result, nowMs, 0)).toEqual(again);
      expect(judge(message, 2, result, nowMs, 0)).toEqual(again);
      expect(judge(message, 3, result, nowMs, 0)).toEqual({ state: 'failed' });
    },
  );

  it('without retries is final at once', () => {
    expect(judge({ maxRetries: 0, retryDelay: null }, 1, error, nowMs, 0)).toEqual({ state: 'failed' });
  });

  it('on an answer that says so is failed at once', () => {
    const headers = { 'upstash-nonretryable-error': ['true'] };
    expect(judge(message, 1, answer(489, headers), nowMs, 0)).toEqual({ state: 'failed' });
    expect(judge(message, 1, answer(489), nowMs, 0)).toMatchObject({ state: 'pending' });
  });

  it('takes the receiver’s wish where the message has none of its own', () => {
    const headers = { 'retry-after': ['90'] };
    expect(judge({ maxRetries: 1, retryDelay: null }, 1, answer(503, headers), nowMs, 0)).toEqual({
      state: 'pending',
      nextAttemptAtMs: nowMs + 90_000,
    });
  });

  it('gives whole milliseconds, never sooner than asked', () => {
    const verdict = judge(message, 1, error, nowMs + 0.3, 0);
    expect(verdict).toEqual({ state: 'pending', nextAttemptAtMs: nowMs + 1_501 });
  });

  it.each(['0', '10', '900'])('waits for the least delay where the message asks for %s ms', (retryDelay) => {
    const verdict = judge({ maxRetries: 100, retryDelay }, 1, error, nowMs, 0, 1_000);
    expect(verdict).toEqual({ state: 'pending', nextAttemptAtMs: nowMs + 1_000 });
  });

  it('waits for the least delay where the receiver says now', () => {
    const verdict = judge(
      { maxRetries: 1, retryDelay: null },
      1,
      answer(503, { 'retry-after': ['0'] }),
      nowMs,
      0,
      1_000,
    );
    expect(verdict).toEqual({ state: 'pending', nextAttemptAtMs: nowMs + 1_000 });
  });
});
