// Idempotency keys made from the occurrence they are for.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { timeZone } from '../../../src/domain/cron/time-zone.js';
import { CarillonError } from '../../../src/domain/errors.js';
import { expandKeyTemplate, MAX_KEY_BYTES, parseKeyTemplate } from '../../../src/domain/key-template.js';

function key(template: string, at: string, zone = 'UTC'): string {
  return expandKeyTemplate(parseKeyTemplate(template), Date.parse(at), timeZone(zone));
}

describe('expandKeyTemplate', () => {
  it.each([
    ['invoice:{yyyy-MM}:acme', '2026-03-08T07:00:00Z', 'UTC', 'invoice:2026-03:acme'],
    ['{yyyy-MM-ddTHH:mm:ss}', '2026-03-08T07:05:09Z', 'UTC', '2026-03-08T07:05:09'],
    ['{yyyyMMdd}/{HH.mm}', '2026-03-08T07:05:09Z', 'UTC', '20260308/07.05'],
    ['{occurrence}', '2026-03-08T07:05:09.250Z', 'America/New_York', '2026-03-08T07:05:09.250Z'],
    // The schedule's own calendar decides which day and month it is.
    ['{yyyy-MM-dd}', '2026-01-01T03:00:00Z', 'America/New_York', '2025-12-31'],
    ['{yyyy-MM-dd HH}'.replace(' ', '_'), '2025-12-31T12:00:00Z', 'Asia/Tokyo', '2025-12-31_21'],
    ["{xxxx-'W'ww}", '2026-01-01T00:00:00Z', 'UTC', '2026-W01'],
    ["{xxxx-'W'ww}", '2027-01-03T00:00:00Z', 'UTC', '2026-W53'],
    ["{xxxx-'W'ww}", '2024-12-30T00:00:00Z', 'UTC', '2025-W01'],
    ["{'on 'yyyy}", '2024-12-30T00:00:00Z', 'UTC', 'on 2024'],
    ['a{{b}}{yyyy}', '2026-01-01T00:00:00Z', 'UTC', 'a{b}2026'],
    ['plain', '2026-01-01T00:00:00Z', 'UTC', 'plain'],
    ['ключ-{yyyy}', '2026-01-01T00:00:00Z', 'UTC', 'ключ-2026'],
  ])('%s at %s in %s is %s', (template, at, zone, expected) => {
    expect(key(template, at, zone)).toBe(expected);
  });

  it('tells the two showings of a repeated hour apart only by {occurrence}', () => {
    const [first, second] = ['2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z'] as const;
    expect(key('{HH:mm}', first, 'America/New_York')).toBe(key('{HH:mm}', second, 'America/New_York'));
    expect(key('{occurrence}', first)).not.toBe(key('{occurrence}', second));
  });

  it('knows the ISO week of every day of a cycle', () => {
    const zone = timeZone('UTC');
    const template = parseKeyTemplate("{xxxx-'W'ww}");
    let expected = { year: 2000, week: 52 }; // 2000-01-03, a Monday, begins week 1
    for (let day = 0; day < 10_000; day++) {
      const date = new Date(Date.UTC(2000, 0, 3 + day));
      if (date.getUTCDay() === 1) {
        const thursday = new Date(date.getTime() + 3 * 86_400_000);
        const sameYear = thursday.getUTCFullYear() === expected.year && day > 0;
        expected = { year: thursday.getUTCFullYear(), week: sameYear ? expected.week + 1 : 1 };
      }
      const text = `${expected.year}-W${String(expected.week).padStart(2, '0')}`;
      expect(expandKeyTemplate(template, date.getTime(), zone)).toBe(text);
    }
  });
});

describe('parseKeyTemplate', () => {
  it('says whether occurrences get different keys', () => {
    expect(parseKeyTemplate('invoice:{yyyy}').usesOccurrence).toBe(true);
    expect(parseKeyTemplate('invoice').usesOccurrence).toBe(false);
  });

  it.each([
    ['', 'Carillon-Idempotency-Key: the key is empty'],
    ['{YYYY}', 'unknown token "YYYY" in {YYYY}, for example {yyyy-MM-dd}'],
    ['{yyyy-mm-DD}', 'unknown token "DD"'],
    ['{yy}', 'unknown token "yy"'],
    ['{yyyy MM}', 'unknown token " "'],
    ["{yyyy'W}", 'unknown token "\'"'],
    ['{}', '{} names no part of the time'],
    ['{-}', '{-} names no part of the time'],
    ['a{yyyy', '"{yyyy" has no closing brace (write "{{" for a brace)'],
    ['a}b', 'a "}" has no "{" before it (write "}}" for a brace)'],
    ['a\0b', 'the key contains a control character'],
    ['a\ud800b', 'half of a surrogate pair'],
    ['é'.repeat(257), 'the key would have 514 bytes, at most 512 are allowed'],
    ['{yyyy}' + 'x'.repeat(509), 'the key would have 513 bytes'],
  ])('refuses %j', (template, why) => {
    const read = (): unknown => parseKeyTemplate(template);
    expect(read).toThrow(CarillonError);
    expect(read).toThrow(why);
  });

  it('either refuses a text or keeps its keys within the bound', () => {
    const piece = fc.constantFrom('{yyyy}', '{MM-dd}', '{occurrence}', '{', '}', 'x'.repeat(100), "'", 'é', '{{', 'ab');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        let template;
        try {
          template = parseKeyTemplate(pieces.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(CarillonError);
          return;
        }
        const expanded = expandKeyTemplate(template, Date.parse('2026-12-31T23:59:59Z'), timeZone('UTC'));
        expect(Buffer.byteLength(expanded)).toBeLessThanOrEqual(MAX_KEY_BYTES);
      }),
      { seed: 11, numRuns: 500 },
    );
  });
});
