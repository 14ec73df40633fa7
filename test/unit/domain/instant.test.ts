// Issue 12: an instant is read as it is written, or refused; it never becomes another one.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant } from '../../../src/api/instant.js';
import { CarillonError } from '../../../src/domain/errors.js';
import { readIsoInstant } from '../../../src/domain/instant.js';
import { readTime } from '../../../cli/times.js';

describe('an instant', () => {
  it.each([
    ['2026-03-08T07:00:00Z', Date.UTC(2026, 2, 8, 7)],
    ['2026-03-08t07:00z', Date.UTC(2026, 2, 8, 7)],
    ['2026-03-08T03:00:00-04:00', Date.UTC(2026, 2, 8, 7)],
    ['2026-03-08T03:00:00-0400', Date.UTC(2026, 2, 8, 7)],
    ['2026-03-08T21:00:00+14:00', Date.UTC(2026, 2, 8, 7)],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['2026-03-08T07:00:00,5Z', Date.UTC(2026, 2, 8, 7) + 500],
    ['2026-03-08T07:00:00.123456789Z', Date.UTC(2026, 2, 8, 7) + 123],
  ])('%s is read', (text, atMs) => {
    expect(readIsoInstant(text)).toEqual({ atMs });
    expect(parseInstant(text, 'from', 'milliseconds')).toBe(atMs);
    expect(readTime(text, '--at')).toBe(atMs);
  });

  it.each([
    ['2027-02-30T00:00:00Z', '2027-02 has 28 days'],
    ['2027-02-29T00:00:00Z', '2027-02 has 28 days'],
    ['2100-02-29T00:00:00Z', '2100-02 has 28 days'],
    ['2027-04-31T00:00:00Z', '2027-04 has 30 days'],
    ['2027-01-00T00:00:00Z', '2027-01 has 31 days'],
    ['2027-13-01T00:00:00Z', 'there is no month 13'],
    ['2027-00-01T00:00:00Z', 'there is no month 00'],
    ['2027-01-01T24:00:00Z', 'there is no time 24:00:00'],
    ['2027-01-01T25:00Z', 'there is no time 25:00'],
    ['2027-01-01T23:60:00Z', 'there is no time 23:60:00'],
    ['2016-12-31T23:59:60Z', 'leap second'],
    ['2027-01-01T00:00:00+14:01', 'the offset +14:01 is beyond 14 hours'],
    ['2027-01-01T00:00:00-1500', 'the offset -1500 is beyond 14 hours'],
    ['2027-01-01T00:00:00+05:60', 'the offset +05:60 is beyond'],
    ['2027-01-01T00:00:00', 'its zone is missing: did you mean 2027-01-01T00:00:00Z?'],
    ['2027-01-01 00:00:00', 'its zone is missing: did you mean 2027-01-01T00:00:00Z?'],
    ['2027-01-01', 'its zone is missing: did you mean 2027-01-01T00:00:00Z?'],
    ['2027-01-01 00:00:00Z', 'did you mean 2027-01-01T00:00:00Z?'],
    ['2027-01-01T00:00:00.1234567890Z', 'expected'],
    ['+275760-09-13T00:00:00Z', 'expected'],
    ['-000001-01-01T00:00:00Z', 'expected'],
    ['2027-01-01T00:00:00 PST', 'expected'],
    ['January 1, 2027', 'expected'],
    ['tomorrow', 'expected'],
  ])('%s is refused: %s', (text, why) => {
    expect(readIsoInstant(text)).not.toHaveProperty('atMs');
    expect(() => parseInstant(text, 'Carillon-Start', 'seconds')).toThrow(why);
    expect(() => parseInstant(text, 'Carillon-Start', 'seconds')).toThrow(CarillonError);
    expect(() => readTime(text, '--at')).toThrow(why);
  });

  it.each(['0000-01-01T00:00:00Z', '1969-12-31T23:59:59Z', '1970-01-01T00:00:00+00:01'])(
    'before 1970 is none for the API: %s',
    (text) => {
      expect(() => parseInstant(text, 'from', 'milliseconds')).toThrow(CarillonError);
    },
  );

  it('is, in any text of its form, what Date says of it when every part exists, and nothing otherwise', () => {
    const two = fc.integer({ min: 0, max: 99 }).map((value) => String(value).padStart(2, '0'));
    const day = fc.constantFrom('01', '28', '29', '30', '31');
    const parts = fc.tuple(fc.integer({ min: 1970, max: 9998 }), two, day, two, two, two);
    fc.assert(
      fc.property(parts, ([year, month, dayOfMonth, hour, minute, second]) => {
        const text = `${year}-${month}-${dayOfMonth}T${hour}:${minute}:${second}Z`;
        const read = readIsoInstant(text);
        if ('atMs' in read) expect(new Date(read.atMs).toISOString()).toBe(text.replace('Z', '.000Z'));
        else expect(new Date(Date.parse(text) || 0).toISOString()).not.toBe(text.replace('Z', '.000Z'));
      }),
      { numRuns: 2_000 },
    );
  });
});
