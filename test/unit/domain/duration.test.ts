// Durations: what clients write is read to the millisecond, and what is written is read back.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../../src/domain/duration.js';
import { CarillonError } from '../../../src/domain/errors.js';

describe('parseDuration', () => {
  it.each([
    ['10s', 10_000],
    ['5m', 300_000],
    ['1d10h30m', 123_000_000 + 1_200_000],
    ['1.5s', 1500],
    ['0.25h', 900_000],
    ['1.1s', 1100],
    ['0s', 0],
    ['0', 0],
    [' 2h ', 7_200_000],
  ])('reads %s', (text, expected) => {
    expect(parseDuration(text, 'Upstash-Delay')).toBe(expected);
  });

  it('reads bare seconds and Go durations where they are allowed', () => {
    expect(parseDuration('90', 'Upstash-Timeout', { bareSeconds: true })).toBe(90_000);
    expect(parseDuration('1.5', 'Upstash-Timeout', { bareSeconds: true })).toBe(1500);
    expect(parseDuration('6m5.5s', 'x', { goUnits: true })).toBe(365_500);
    expect(parseDuration('1h2ms', 'x', { goUnits: true })).toBe(3_600_002);
    expect(parseDuration('1500us500000ns', 'x', { goUnits: true })).toBe(2);
    expect(parseDuration('2000µs', 'x', { goUnits: true })).toBe(2);
  });

  it.each([
    ['', 'Upstash-Delay: expected a duration such as 10s, 5m or 1d10h30m, got ""'],
    ['10', 'Upstash-Delay: a unit is missing (one of d, h, m, s), got "10"'],
    ['1h30', 'Upstash-Delay: expected a duration'],
    ['10x', 'Upstash-Delay: unknown unit "x"'],
    ['10ms', 'Upstash-Delay: unknown unit "ms"'],
    ['-10s', 'Upstash-Delay: a duration cannot be negative'],
    ['1e3s', 'Upstash-Delay: unknown unit "e"'],
    ['.5s', 'Upstash-Delay: expected a duration'],
    ['1 h', 'Upstash-Delay: expected a duration'],
    ['NaN', 'Upstash-Delay: expected a duration'],
    ['9999999999999d', 'Upstash-Delay: the duration is too long'],
    ['401d', 'Upstash-Delay: must be at most 400d, got "401d"'],
    ['1'.repeat(100) + 's', 'a duration has at most 64 characters'],
  ])('refuses %j', (text, why) => {
    const read = (): number => parseDuration(text, 'Upstash-Delay', { maxMs: 400 * 86_400_000 });
    expect(read).toThrow(CarillonError);
    expect(read).toThrow(why);
  });

  it('says when it is too short', () => {
    expect(() => parseDuration('500ms', 'x', { goUnits: true, minMs: 1500 })).toThrow('x: must be at least 1.5s');
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [250, '0.25s'],
    [90_000, '1m30s'],
    [124_200_000, '1d10h30m'],
    [86_400_000 * 400, '400d'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('is read back as it was', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e13 }), (ms) => parseDuration(formatDuration(ms), 'x') === ms),
      { seed: 7 },
    );
  });
});
