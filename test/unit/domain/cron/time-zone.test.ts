// The offset table against Intl itself, in every zone there is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatLocal, timeZone } from '../../../../src/domain/cron/time-zone.js';

const ZONES = Intl.supportedValuesOf('timeZone');

/** Wall-clock time by Intl's fields, as if it were UTC; whole seconds. */
function wallByIntl(zone: string, atMs: number): number {
  const parts = new Map(
    new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const get = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? Number.NaN;
  return Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'), get('second'));
}

describe('segments', () => {
  it('give the offset that Intl gives, in any zone at any second', () => {
    const second = fc.integer({ min: Date.UTC(1970, 0, 2) / 1000, max: Date.UTC(2100, 0, 1) / 1000 });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), second, (zone, at) => {
        const segment = timeZone(zone).segmentAt(at * 1000);
        expect(at * 1000 + segment.offsetMs).toBe(wallByIntl(zone, at * 1000));
      }),
      { seed: 1970, numRuns: 800 },
    );
  });

  it('follow each other without a hole, and change exactly where the offset does', () => {
    for (const zone of [
      'America/Boa_Vista',
      'Africa/Casablanca',
      'Africa/El_Aaiun',
      'Australia/Lord_Howe',
      'Asia/Gaza',
    ]) {
      let segment = timeZone(zone).segmentAt(Date.UTC(2000, 0, 1));
      while (segment.endMs < Date.UTC(2030, 0, 1)) {
        const next = timeZone(zone).segmentAt(segment.endMs);
        expect(next.startMs).toBe(segment.endMs);
        const [before, after] = [segment.endMs - 1000, segment.endMs];
        expect(before + segment.offsetMs).toBe(wallByIntl(zone, before));
        expect(after + next.offsetMs).toBe(wallByIntl(zone, after));
        segment = next;
      }
    }
  });

  it('do not depend on the order of the questions', () => {
    const zone = timeZone('Europe/Kyiv');
    const times = Array.from({ length: 300 }, (_, n) => Date.UTC(1970 + ((n * 89) % 130), n % 12, 1 + (n % 28)));
    const there = times.map((atMs) => zone.segmentAt(atMs).offsetMs);
    expect([...times].reverse().map((atMs) => zone.segmentAt(atMs).offsetMs)).toEqual(there.reverse());
  });
});

describe('names', () => {
  it('are one zone in any spelling', () => {
    expect(timeZone('america/NEW_YORK')).toBe(timeZone('America/New_York'));
    expect(timeZone('Etc/GMT+5').segmentAt(0).offsetMs).toBe(-5 * 3_600_000);
  });

  it.each(['', 'Mars/Base', '+05:30', 'UTC\0', 'Local', 'a'.repeat(100), '../etc', 'constructor', '__proto__'])(
    '%j is refused',
    (name) => {
      expect(() => timeZone(name)).toThrow(/unknown time zone .*expected an IANA name/);
    },
  );
});

it('local times are written with their offset', () => {
  expect(formatLocal(timeZone('UTC'), 0)).toBe('1970-01-01T00:00:00+00:00');
  expect(formatLocal(timeZone('Asia/Kathmandu'), Date.UTC(2026, 0, 1))).toBe('2026-01-01T05:45:00+05:45');
  expect(formatLocal(timeZone('America/St_Johns'), Date.UTC(2026, 0, 1))).toBe('2025-12-31T20:30:00-03:30');
  expect(formatLocal(timeZone('UTC'), 250)).toBe('1970-01-01T00:00:00.250+00:00');
});
