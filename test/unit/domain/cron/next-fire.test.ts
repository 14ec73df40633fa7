// Golden tables: what each kind of schedule does at the clock changes of 2026 in five zones, and at the odd changes of history.
import { describe, expect, it } from 'vitest';
import { MAX_NEXT_TIMES, nextFire, nextFireWithin, nextTimes } from '../../../../src/domain/cron/next-fire.js';
import { parseCron } from '../../../../src/domain/cron/parse.js';

/** Zone, cron text, the instant to look from, and the firings that follow: local time with offset, and the note on the clock change. */
type Golden = readonly [zone: string, cron: string, from: string, expected: readonly string[]];

const NEW_YORK = 'America/New_York'; // 2026-03-08 02:00 -> 03:00, 2026-11-01 02:00 -> 01:00
const LONDON = 'Europe/London'; // 2026-03-29 01:00 -> 02:00, 2026-10-25 02:00 -> 01:00
const SANTIAGO = 'America/Santiago'; // 2026-04-05 00:00 -> 23:00, 2026-09-06 00:00 -> 01:00
const LORD_HOWE = 'Australia/Lord_Howe'; // 2026-04-05 02:00 -> 01:30, 2026-10-04 02:00 -> 02:30
const KYIV = 'Europe/Kyiv'; // 2026-03-29 03:00 -> 04:00, 2026-10-25 04:00 -> 03:00

const GOLDEN: readonly Golden[] = [
  // A fixed time inside the gap fires once, at the first instant after it.
  [
    NEW_YORK,
    '30 2 * * *',
    '2026-03-07T05:00:00Z',
    ['2026-03-07T02:30:00-05:00', '2026-03-08T03:00:00-04:00 gap', '2026-03-09T02:30:00-04:00'],
  ],
  // Several times inside one gap are one firing.
  [NEW_YORK, '*/10 2 * * *', '2026-03-08T05:00:00Z', ['2026-03-08T03:00:00-04:00 gap', '2026-03-09T02:00:00-04:00']],
  // One moved out of the gap and the regular one at its end are one firing, and that is the regular one.
  [
    NEW_YORK,
    '0,30 2,3 * * *',
    '2026-03-08T05:00:00Z',
    ['2026-03-08T03:00:00-04:00', '2026-03-08T03:30:00-04:00', '2026-03-09T02:00:00-04:00'],
  ],
  [
    NEW_YORK,
    '30 2,3 * * *',
    '2026-03-08T05:00:00Z',
    ['2026-03-08T03:00:00-04:00 gap', '2026-03-08T03:30:00-04:00', '2026-03-09T02:30:00-04:00'],
  ],
  // A fixed time that the clock shows twice fires at the first.
  [NEW_YORK, '30 1 * * *', '2026-10-31T12:00:00Z', ['2026-11-01T01:30:00-04:00 overlap', '2026-11-02T01:30:00-05:00']],
  // Asked in the middle of the second showing, all of it has fired.
  [NEW_YORK, '*/20 1 * * *', '2026-11-01T06:10:00Z', ['2026-11-02T01:00:00-05:00', '2026-11-02T01:20:00-05:00']],
  [NEW_YORK, '0 1,2 * * *', '2026-11-01T05:00:00Z', ['2026-11-01T02:00:00-05:00', '2026-11-02T01:00:00-05:00']],
  // A wildcard hour follows the clock: what is skipped is skipped, what is repeated repeats.
  [NEW_YORK, '30 * * * *', '2026-03-08T05:45:00Z', ['2026-03-08T01:30:00-05:00', '2026-03-08T03:30:00-04:00']],
  [NEW_YORK, '0 */2 * * *', '2026-03-08T04:30:00Z', ['2026-03-08T00:00:00-05:00', '2026-03-08T04:00:00-04:00']],
  [
    NEW_YORK,
    '30 * * * *',
    '2026-11-01T04:45:00Z',
    ['2026-11-01T01:30:00-04:00 overlap', '2026-11-01T01:30:00-05:00 overlap', '2026-11-01T02:30:00-05:00'],
  ],
  // A full range is not a wildcard: it names its hours.
  [
    NEW_YORK,
    '30 0-23 * * *',
    '2026-11-01T04:45:00Z',
    ['2026-11-01T01:30:00-04:00 overlap', '2026-11-01T02:30:00-05:00'],
  ],
  // What begins every 30 seconds, with seconds.
  [NEW_YORK, '*/30 59 1 8 3 *', '2026-03-01T00:00:00Z', ['2026-03-08T01:59:00-05:00', '2026-03-08T01:59:30-05:00']],

  [LONDON, '30 1 * * *', '2026-03-28T12:00:00Z', ['2026-03-29T02:00:00+01:00 gap', '2026-03-30T01:30:00+01:00']],
  [LONDON, '0 1 * * *', '2026-03-28T12:00:00Z', ['2026-03-29T02:00:00+01:00 gap', '2026-03-30T01:00:00+01:00']],
  [LONDON, '30 1 * * *', '2026-10-24T12:00:00Z', ['2026-10-25T01:30:00+01:00 overlap', '2026-10-26T01:30:00+00:00']],
  [LONDON, '0 * * * *', '2026-03-29T00:00:00Z', ['2026-03-29T02:00:00+01:00', '2026-03-29T03:00:00+01:00']],
  [
    LONDON,
    '0 * * * *',
    '2026-10-24T23:30:00Z',
    ['2026-10-25T01:00:00+01:00 overlap', '2026-10-25T01:00:00+00:00 overlap', '2026-10-25T02:00:00+00:00'],
  ],

  [SANTIAGO, '0 0 * * *', '2026-09-05T12:00:00Z', ['2026-09-06T01:00:00-03:00 gap', '2026-09-07T00:00:00-03:00']],
  [SANTIAGO, '30 0 * * 0', '2026-09-05T12:00:00Z', ['2026-09-06T01:00:00-03:00 gap', '2026-09-13T00:30:00-03:00']],
  [SANTIAGO, '0 0 * * *', '2026-04-04T12:00:00Z', ['2026-04-05T00:00:00-04:00', '2026-04-06T00:00:00-04:00']],
  [SANTIAGO, '30 23 * * 6', '2026-04-04T12:00:00Z', ['2026-04-04T23:30:00-03:00 overlap', '2026-04-11T23:30:00-04:00']],
  [
    SANTIAGO,
    '30 * * * *',
    '2026-04-05T02:00:00Z',
    ['2026-04-04T23:30:00-03:00 overlap', '2026-04-04T23:30:00-04:00 overlap', '2026-04-05T00:30:00-04:00'],
  ],
  [SANTIAGO, '0 * * * *', '2026-09-06T03:00:00Z', ['2026-09-06T01:00:00-03:00', '2026-09-06T02:00:00-03:00']],

  // The half-hour change: 02:00-02:30 is skipped, 01:30-02:00 is shown twice.
  [LORD_HOWE, '0 2 * * *', '2026-10-03T10:00:00Z', ['2026-10-04T02:30:00+11:00 gap', '2026-10-05T02:00:00+11:00']],
  [LORD_HOWE, '15,30,45 2 * * *', '2026-10-03T10:00:00Z', ['2026-10-04T02:30:00+11:00', '2026-10-04T02:45:00+11:00']],
  [LORD_HOWE, '15,45 2 * * *', '2026-10-03T10:00:00Z', ['2026-10-04T02:30:00+11:00 gap', '2026-10-04T02:45:00+11:00']],
  [LORD_HOWE, '*/15 * * * *', '2026-10-03T15:15:00Z', ['2026-10-04T02:30:00+11:00', '2026-10-04T02:45:00+11:00']],
  [
    LORD_HOWE,
    '15,45 1 * * *',
    '2026-04-04T13:00:00Z',
    ['2026-04-05T01:15:00+11:00', '2026-04-05T01:45:00+11:00 overlap'],
  ],
  [LORD_HOWE, '0 2 * * *', '2026-04-04T13:00:00Z', ['2026-04-05T02:00:00+10:30', '2026-04-06T02:00:00+10:30']],
  [
    LORD_HOWE,
    '45 * * * *',
    '2026-04-04T14:00:00Z',
    ['2026-04-05T01:45:00+11:00 overlap', '2026-04-05T01:45:00+10:30 overlap', '2026-04-05T02:45:00+10:30'],
  ],

  [KYIV, '30 3 * * *', '2026-03-28T12:00:00Z', ['2026-03-29T04:00:00+03:00 gap', '2026-03-30T03:30:00+03:00']],
  [KYIV, '30 3 * * *', '2026-10-24T12:00:00Z', ['2026-10-25T03:30:00+03:00 overlap', '2026-10-26T03:30:00+02:00']],
  [KYIV, '30 */3 * * *', '2026-03-29T00:00:00Z', ['2026-03-29T06:30:00+03:00', '2026-03-29T09:30:00+03:00']],
  [
    KYIV,
    '0 */3 * * *',
    '2026-10-24T22:00:00Z',
    ['2026-10-25T03:00:00+03:00 overlap', '2026-10-25T03:00:00+02:00 overlap', '2026-10-25T06:00:00+02:00'],
  ],

  // Samoa had no 30 December 2011: its fixed times fire as the 31st begins, its wildcard times not at all.
  [
    'Pacific/Apia',
    '0 12 * * *',
    '2011-12-29T12:00:00Z',
    ['2011-12-29T12:00:00-10:00', '2011-12-31T00:00:00+14:00 gap', '2011-12-31T12:00:00+14:00'],
  ],
  [
    'Pacific/Apia',
    '0 0 30 12 *',
    '2011-06-01T00:00:00Z',
    ['2011-12-31T00:00:00+14:00 gap', '2012-12-30T00:00:00+14:00'],
  ],
  ['Pacific/Apia', '0 0 * * *', '2011-12-29T12:00:00Z', ['2011-12-31T00:00:00+14:00', '2012-01-01T00:00:00+14:00']],
  ['Pacific/Apia', '0 */12 * * *', '2011-12-29T12:00:00Z', ['2011-12-29T12:00:00-10:00', '2011-12-31T00:00:00+14:00']],
  // Kwajalein skipped 21 August 1993 whole, crossing the date line.
  [
    'Pacific/Kwajalein',
    '0 8 21 8 *',
    '1993-08-01T00:00:00Z',
    ['1993-08-22T00:00:00+12:00 gap', '1994-08-21T08:00:00+12:00'],
  ],
  // Troll changes by two hours; Newfoundland used to change at one minute past midnight.
  [
    'Antarctica/Troll',
    '0 1,2,3 * * *',
    '2026-03-28T12:00:00Z',
    ['2026-03-29T03:00:00+02:00', '2026-03-30T01:00:00+02:00'],
  ],
  [
    'America/St_Johns',
    '0,30 0 * * *',
    '2010-03-13T12:00:00Z',
    ['2010-03-14T00:00:00-03:30', '2010-03-14T01:01:00-02:30 gap'],
  ],
  [
    'America/St_Johns',
    '0 0 * * *',
    '2010-11-06T12:00:00Z',
    ['2010-11-07T00:00:00-02:30 overlap', '2010-11-08T00:00:00-03:30'],
  ],
  // An offset with seconds.
  ['Africa/Monrovia', '0 12 * * *', '1970-06-01T00:00:00Z', ['1970-06-01T12:00:00-00:44:30']],
];

function times(cron: string, zone: string, fromMs: number, count: number): string[] {
  return nextTimes(parseCron(cron, { timeZone: zone }), fromMs, count).map(
    ({ local, dst }) => local + (dst === null ? '' : ` ${dst}`),
  );
}

function nextUtc(cron: string, zone: string, after: string): string | null {
  const fire = nextFire(parseCron(cron, { timeZone: zone }), Date.parse(after));
  return fire === null ? null : new Date(fire.atMs).toISOString();
}

describe('golden tables', () => {
  it.each(GOLDEN)('%s, %s after %s', (zone, cron, from, expected) => {
    expect(times(cron, zone, Date.parse(from), expected.length)).toEqual(expected);
  });
});

describe('faults reported of other schedulers', () => {
  it('loses neither the day nor the week when the clock goes forward', () => {
    expect(nextUtc('0 8 * * 0', 'America/Chicago', '2026-03-08T05:45:00Z')).toBe('2026-03-08T13:00:00.000Z');
    expect(nextUtc('0 2 * * *', LORD_HOWE, '2026-10-03T10:00:00Z')).toBe('2026-10-03T15:30:00.000Z');
  });

  it('fires a daily job once on both days of a clock change', () => {
    const fires = (cron: string, from: string, to: string): string[] =>
      nextTimes(parseCron(cron, { timeZone: NEW_YORK }), Date.parse(from), 10)
        .filter(({ utcMs }) => utcMs < Date.parse(to))
        .map(({ utcMs }) => new Date(utcMs).toISOString());
    expect(fires('30 2 * * *', '2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z')).toEqual(['2026-03-08T07:00:00.000Z']);
    expect(fires('30 1 * * *', '2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z')).toEqual(['2026-11-01T05:30:00.000Z']);
  });

  it('finds the way out of a gap at midnight', () => {
    expect(nextUtc('0 0 * * *', SANTIAGO, '2026-09-05T12:00:00Z')).toBe('2026-09-06T04:00:00.000Z');
  });

  it('knows 29 February, also from that day and across a century that is no leap year', () => {
    expect(times('0 0 29 2 *', 'UTC', Date.parse('2026-01-01T00:00:00Z'), 3)).toEqual([
      '2028-02-29T00:00:00+00:00',
      '2032-02-29T00:00:00+00:00',
      '2036-02-29T00:00:00+00:00',
    ]);
    expect(nextUtc('0 0 29 2 *', 'UTC', '2028-02-29T00:00:00Z')).toBe('2032-02-29T00:00:00.000Z');
    expect(nextUtc('30 12 * * *', NEW_YORK, '2028-02-29T00:00:00Z')).toBe('2028-02-29T17:30:00.000Z');
    expect(nextUtc('0 0 29 2 *', 'UTC', '2096-02-29T00:00:00Z')).toBe('2104-02-29T00:00:00.000Z');
    expect(nextUtc('0 */6 29 2 *', NEW_YORK, '2096-03-01T12:00:00Z')).toBe('2104-02-29T05:00:00.000Z');
    // The rarest day there is: a fifth Monday in February, 40 years apart across 2100.
    expect(nextUtc('0 0 * 2 1#5', 'UTC', '2072-03-01T00:00:00Z')).toBe('2112-02-29T00:00:00.000Z');
  });

  it('takes day-of-month and day-of-week together as either', () => {
    expect(times('0 0 13 * 5', 'UTC', Date.parse('2026-02-05T00:00:00Z'), 5)).toEqual([
      '2026-02-06T00:00:00+00:00',
      '2026-02-13T00:00:00+00:00',
      '2026-02-20T00:00:00+00:00',
      '2026-02-27T00:00:00+00:00',
      '2026-03-06T00:00:00+00:00',
    ]);
  });

  it('keeps an @every on the grid of its anchor, whenever it is asked', () => {
    const every = parseCron('@every 90s');
    const anchorMs = Date.parse('2026-01-01T00:00:00.250Z');
    for (const sinceMs of [-5000, 0, 1, 89_999, 90_000, 1_000_000, 123_456_789]) {
      const { atMs } = nextFire(every, anchorMs + sinceMs, anchorMs)!;
      expect((atMs - anchorMs) % 90_000).toBe(0);
      expect(atMs).toBeGreaterThan(Math.max(anchorMs, anchorMs + sinceMs));
      expect(atMs - Math.max(anchorMs, anchorMs + sinceMs)).toBeLessThanOrEqual(90_000);
    }
    expect(() => nextFire(every, anchorMs)).toThrow(/anchor/);
  });
});

describe('days that are rules', () => {
  const from = Date.parse('2026-01-01T00:00:00Z');
  it.each([
    ['0 0 L * *', ['2026-01-31', '2026-02-28', '2026-03-31']],
    ['0 0 L-2 * *', ['2026-01-29', '2026-02-26', '2026-03-29']],
    ['0 0 LW * *', ['2026-01-30', '2026-02-27', '2026-03-31']],
    ['0 0 15W * *', ['2026-01-15', '2026-02-16', '2026-03-16']],
    ['0 0 1W 8 *', ['2026-08-03', '2027-08-02', '2028-08-01']],
    ['0 0 31W * *', ['2026-01-30', '2026-03-31', '2026-05-29']],
    ['0 0 * * 5#3', ['2026-01-16', '2026-02-20', '2026-03-20']],
    ['0 0 * * FRI#5', ['2026-01-30', '2026-05-29', '2026-07-31']],
    ['0 0 * * 5L', ['2026-01-30', '2026-02-27', '2026-03-27']],
    ['0 0 * * 7L', ['2026-01-25', '2026-02-22', '2026-03-29']],
    ['0 0 * * 1#1,3#2', ['2026-01-05', '2026-01-14', '2026-02-02']],
    ['0 0 1,L * *', ['2026-01-31', '2026-02-01', '2026-02-28']],
    ['0 0 L * 1#1', ['2026-01-05', '2026-01-31', '2026-02-02']],
    ['0 0 ? * 7', ['2026-01-04', '2026-01-11', '2026-01-18']],
    ['0 0 * * FRI-SUN', ['2026-01-02', '2026-01-03', '2026-01-04']],
  ])('%s', (cron, expected) => {
    expect(times(cron, 'UTC', from, 3).map((local) => local.slice(0, 10))).toEqual(expected);
  });
});

describe('bounds', () => {
  const daily = parseCron('0 12 * * *');
  const afterMs = Date.parse('2026-05-01T12:00:00Z');
  const dayMs = 86_400_000;

  it('keeps within start and end, both inclusive', () => {
    expect(nextFireWithin(daily, { afterMs })).toBe(afterMs + dayMs);
    expect(nextFireWithin(daily, { afterMs, startAtMs: afterMs + 3 * dayMs })).toBe(afterMs + 3 * dayMs);
    expect(nextFireWithin(daily, { afterMs, endAtMs: afterMs + dayMs })).toBe(afterMs + dayMs);
    expect(nextFireWithin(daily, { afterMs, endAtMs: afterMs + dayMs - 1 })).toBeNull();
    expect(nextFireWithin(daily, { afterMs, startAtMs: null, endAtMs: null })).toBe(afterMs + dayMs);
  });

  it('is strictly later, to the millisecond', () => {
    expect(nextFire(daily, afterMs - 1)?.atMs).toBe(afterMs);
    expect(nextFire(daily, afterMs)?.atMs).toBe(afterMs + dayMs);
  });

  it('ends with the year 9999 instead of failing', () => {
    expect(nextFire(daily, Date.parse('9999-12-31T12:00:00Z'))).toBeNull();
    expect(nextFire(parseCron('* * * * *', { timeZone: NEW_YORK }), 8.6e15)).toBeNull();
  });

  it('previews a bounded number of times', () => {
    expect(nextTimes(daily, afterMs, MAX_NEXT_TIMES)).toHaveLength(MAX_NEXT_TIMES);
    expect(() => nextTimes(daily, afterMs, MAX_NEXT_TIMES + 1)).toThrow(/count/);
    expect(() => nextTimes(daily, afterMs, 0)).toThrow(/count/);
  });

  it('answers the hardest questions within milliseconds', () => {
    const hard = ['0 0 * 2 5#5', '* * * * * *', '0 */24 6 9 *', '59 59 23 31 12 *', '* */23 29 2 *'];
    const startedMs = performance.now();
    for (const cron of hard) {
      for (const zone of [SANTIAGO, NEW_YORK, LORD_HOWE]) times(cron, zone, Date.parse('2072-03-01T00:00:00Z'), 20);
    }
    // A generous bound for a busy machine: an unbounded search would take minutes.
    expect(performance.now() - startedMs).toBeLessThan(5000);
  });
});
