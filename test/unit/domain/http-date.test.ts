// Issue 11, B3: a date of HTTP is GMT, in each of the three forms of RFC 9110, whatever the machine's zone is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseHttpDate } from '../../../src/domain/http-date.js';

const NOW_MS = Date.UTC(2026, 2, 8);
const AT_MS = Date.UTC(2026, 2, 8, 7, 0, 30);

describe('an HTTP date', () => {
  it.each([
    'Sun, 08 Mar 2026 07:00:30 GMT',
    'Sunday, 08-Mar-26 07:00:30 GMT',
    'Sun Mar  8 07:00:30 2026',
    'Sun, 08 Mar 2026 07:00:30',
    'Sun, 08 Mar 2026 07:00:30 UTC',
    'Sunday, 08-Mar-26 07:00:30',
    'Sun Mar  8 07:00:30 2026 GMT',
  ])('%s is GMT', (text) => {
    expect(parseHttpDate(text, NOW_MS)).toBe(AT_MS);
  });

  it.each([
    'Sun, 08 Mar 2026 07:00:30 PST',
    'Sun, 08 Mar 2026 07:00:30 +0200',
    'Mon, 30 Feb 2026 07:00:30 GMT',
    'Sun, 00 Mar 2026 07:00:30 GMT',
    'Sun, 08 Mar 2026 24:00:00 GMT',
    'Sun, 08 Mar 2026 07:60:00 GMT',
    'Sun, 08 Foo 2026 07:00:30 GMT',
    'Sun, 8 Mar 2026 07:00:30 GMT',
    'Sun Mar 08 2026 07:00:30',
    '2026-03-08T07:00:30',
    'March 8, 2026',
    'Sunny 1',
    '',
  ])('%j is none', (text) => {
    expect(parseHttpDate(text, NOW_MS)).toBeNull();
  });

  it('of two digits is of the past when it would lie more than 50 years ahead', () => {
    expect(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', NOW_MS)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
    expect(parseHttpDate('Tuesday, 08-Mar-76 00:00:00 GMT', NOW_MS)).toBe(Date.UTC(2076, 2, 8));
    expect(parseHttpDate('Tuesday, 08-Mar-77 00:00:00 GMT', NOW_MS)).toBe(Date.UTC(1977, 2, 8));
    expect(parseHttpDate('Friday, 01-Jan-99 00:00:00 GMT', Date.UTC(2098, 0, 1))).toBe(Date.UTC(2099, 0, 1));
  });

  it('with a leap second is the second after it', () => {
    expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT', NOW_MS)).toBe(Date.UTC(2017, 0, 1));
  });

  it('that is written is read', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
        expect(parseHttpDate(new Date(seconds * 1000).toUTCString(), NOW_MS)).toBe(seconds * 1000);
      }),
    );
  });
});
