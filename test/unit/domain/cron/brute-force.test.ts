// The search against a walk over every minute of two years in eight zones, and against cron-parser in UTC.
//
// The walk shares nothing with the search: it asks Intl for the wall clock field by field, keeps it for every minute, and applies the
// rules to that list. It is made once for each zone.
import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextFire } from '../../../../src/domain/cron/next-fire.js';
import { parseCron } from '../../../../src/domain/cron/parse.js';

const MINUTE_MS = 60_000;
const FROM_MS = Date.parse('2026-01-01T00:00:00Z');
const TO_MS = Date.parse('2028-01-01T00:00:00Z');
const MINUTES = (TO_MS - FROM_MS) / MINUTE_MS;
const EXPRESSIONS_PER_ZONE = 25;

/** Half-hour, two-hour, midnight and Ramadan changes among them. */
const ZONES = [
  'America/New_York',
  'Europe/London',
  'America/Santiago',
  'Australia/Lord_Howe',
  'Europe/Kyiv',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Antarctica/Troll',
];

/** Wall-clock minutes since 1970 for each minute of the two years. */
function walk(zone: string): Int32Array {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  });
  // "08/03/2026, 03:00"
  const wallAt = (minute: number): number => {
    const text = format.format(FROM_MS + minute * MINUTE_MS);
    const number = (from: number, to: number): number => Number(text.slice(from, to));
    return Date.UTC(number(6, 10), number(3, 5) - 1, number(0, 2), number(12, 14), number(15, 17)) / MINUTE_MS;
  };
  const walls = new Int32Array(MINUTES);
  const step = 15;
  let wall = wallAt(0);
  for (let minute = 0; minute < MINUTES; minute += step) {
    const later = wallAt(minute + step);
    // Where the clock shows a quarter of an hour later after a quarter of an hour, it went through it minute by minute.
    const steady = later - wall === step;
    for (let i = 0; i < step; i++) walls[minute + i] = steady ? wall + i : wallAt(minute + i);
    wall = later;
  }
  return walls;
}

interface Fields {
  readonly minute: string;
  readonly hour: string;
  readonly monthDay: string;
  readonly month: string;
  readonly weekday: string;
}

/** A naive reading of one field: every value is held against every item. */
function allows(field: string, value: number, min: number, max: number): boolean {
  return field.split(',').some((item) => {
    const [range = '', step = '1'] = item.split('/');
    const [from = '', to = item.includes('/') ? String(max) : range] = range.split('-');
    const low = range === '*' ? min : Number(from);
    const high = range === '*' ? max : Number(to);
    return value >= low && value <= high && (value - low) % Number(step) === 0;
  });
}

function allowedDay(fields: Fields, wallDay: number): boolean {
  const date = new Date(wallDay * 86_400_000);
  if (!allows(fields.month, date.getUTCMonth() + 1, 1, 12)) return false;
  const weekday = date.getUTCDay();
  const byMonth = allows(fields.monthDay, date.getUTCDate(), 1, 31);
  const byWeek = allows(fields.weekday, weekday, 0, 7) || (weekday === 0 && allows(fields.weekday, 7, 0, 7));
  if (fields.monthDay === '*') return byWeek;
  if (fields.weekday === '*') return byMonth;
  return byMonth || byWeek;
}

/** All instants of the two years at which the expression fires, found minute by minute. */
function bruteForce(fields: Fields, walls: Int32Array): number[] {
  const firstDay = Math.floor((walls[0] ?? 0) / 1440) - 1;
  const lastDay = Math.floor((walls[MINUTES - 1] ?? 0) / 1440) + 1;
  const days = Array.from({ length: lastDay - firstDay + 1 }, (_, day) => allowedDay(fields, firstDay + day));
  const minutes = Array.from({ length: 60 }, (_, minute) => allows(fields.minute, minute, 0, 59));
  const hours = Array.from({ length: 24 }, (_, hour) => allows(fields.hour, hour, 0, 23));
  const matches = (wall: number): boolean =>
    minutes[wall % 60] === true &&
    hours[Math.floor(wall / 60) % 24] === true &&
    days[Math.floor(wall / 1440) - firstDay] === true;
  const fires: number[] = [];
  if (fields.hour.startsWith('*')) {
    for (let minute = 0; minute < MINUTES; minute++) if (matches(walls[minute] ?? 0)) fires.push(minute);
  } else {
    // The first instant that shows each wall minute; one that is never shown belongs to the next one that is.
    const firstWall = firstDay * 1440;
    const lastWall = (lastDay + 1) * 1440 - 1;
    const shownAt = new Int32Array(lastWall - firstWall + 1).fill(-1);
    for (let minute = MINUTES - 1; minute >= 0; minute--) shownAt[(walls[minute] ?? 0) - firstWall] = minute;
    let nextShown = -1;
    for (let wall = lastWall; wall >= (walls[0] ?? 0); wall--) {
      const shown = shownAt[wall - firstWall] ?? -1;
      if (shown >= 0) nextShown = shown;
      if (nextShown >= 0 && fires.at(-1) !== nextShown && matches(wall)) fires.push(nextShown);
    }
    fires.reverse();
  }
  return fires.map((minute) => FROM_MS + minute * MINUTE_MS);
}

/** The first of the ascending times that is later. */
function firstAfter(times: readonly number[], atMs: number): number | undefined {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) > atMs) high = middle;
    else low = middle + 1;
  }
  return times[low];
}

const item = (min: number, max: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.integer({ min, max }).map(String),
    fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.integer({ min: 1, max: max - min + 1 }).map((step) => `*/${step}`),
    fc
      .tuple(fc.integer({ min, max }), fc.integer({ min, max }), fc.integer({ min: 1, max: max - min + 1 }))
      .map(([a, b, step]) => `${Math.min(a, b)}-${Math.max(a, b)}/${step}`),
  );
const field = (min: number, max: number): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    { weight: 4, arbitrary: item(min, max) },
    { weight: 2, arbitrary: fc.array(item(min, max), { minLength: 2, maxLength: 4 }).map((items) => items.join(',')) },
  );
/** Steps of one over everything count as no restriction with us and as one with cron-parser; they have their own test. */
const dayField = (min: number, max: number): fc.Arbitrary<string> =>
  field(min, max).filter((text) => text === '*' || !/\*\/1(,|$)/.test(text));

const expressions: fc.Arbitrary<Fields> = fc.record({
  // Seldom every minute: a million firings are compared no better than fifty thousand.
  minute: fc.oneof({ weight: 9, arbitrary: item(0, 59) }, { weight: 1, arbitrary: field(0, 59) }),
  // Clock changes happen at night: half of the hours are drawn there.
  hour: fc.oneof(field(0, 23), field(0, 4)),
  monthDay: dayField(1, 31),
  month: fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, { weight: 1, arbitrary: field(1, 12) }),
  weekday: dayField(0, 6),
});

const textOf = ({ minute, hour, monthDay, month, weekday }: Fields): string =>
  `${minute} ${hour} ${monthDay} ${month} ${weekday}`;

/** Null for an expression that can never fire. */
function parseUnlessNever(text: string, timeZone: string): ReturnType<typeof parseCron> | null {
  try {
    return parseCron(text, { timeZone });
  } catch (error) {
    if (error instanceof Error && error.message.includes('can never fire')) return null;
    throw error;
  }
}

describe('against every minute of two years', () => {
  it.each(ZONES.map((zone, index) => [zone, 4200 + index] as const))(
    '%s (seed %d)',
    (zone, seed) => {
      const walls = walk(zone);
      fc.assert(
        fc.property(expressions, (fields) => {
          const expression = parseUnlessNever(textOf(fields), zone);
          const expected = bruteForce(fields, walls);
          if (expression === null) {
            expect(expected).toEqual([]);
            return;
          }
          const found: number[] = [];
          let atMs = FROM_MS - 1;
          for (;;) {
            const fire = nextFire(expression, atMs);
            if (fire === null || fire.atMs >= TO_MS) break;
            found.push(fire.atMs);
            atMs = fire.atMs;
          }
          // Compared as text: a diff of half a million numbers helps nobody.
          const differs = found.findIndex((time, index) => time !== expected[index]);
          const where = differs >= 0 ? differs : Math.min(found.length, expected.length);
          const iso = (time: number | undefined): string =>
            time === undefined ? 'nothing' : new Date(time).toISOString();
          expect(`${found.length}: ${iso(found[where])}`).toBe(`${expected.length}: ${iso(expected[where])}`);
          // Asked from anywhere in between, also off the minute, the answer is the same.
          for (let probe = 0; probe < 40; probe++) {
            const fromMs = FROM_MS + Math.floor(((probe * 0.618_034) % 1) * (TO_MS - FROM_MS));
            const next = firstAfter(expected, fromMs);
            if (next !== undefined) expect(nextFire(expression, fromMs)?.atMs).toBe(next);
          }
        }),
        { seed, numRuns: EXPRESSIONS_PER_ZONE },
      );
    },
    60_000,
  );
});

describe('against cron-parser in UTC', () => {
  it('gives the same next times', () => {
    fc.assert(
      fc.property(
        expressions,
        fc.oneof(fc.constant('0'), item(0, 59)),
        fc.integer({ min: FROM_MS, max: TO_MS }),
        (fields, second, fromMs) => {
          const text = `${second} ${textOf(fields)}`;
          const expression = parseUnlessNever(text, 'UTC');
          let peer;
          try {
            peer = CronExpressionParser.parse(text, { tz: 'UTC', currentDate: new Date(fromMs) });
          } catch {
            return; // It refuses lists that overlap, and some days by the month.
          }
          if (expression === null) return;
          let atMs = fromMs;
          for (let count = 0; count < 10; count++) {
            let expected;
            try {
              expected = peer.next().getTime();
            } catch {
              return; // It gives up after some thousand steps where the next time is far away.
            }
            atMs = nextFire(expression, atMs)?.atMs ?? Number.NaN;
            expect(new Date(atMs).toISOString()).toBe(new Date(expected).toISOString());
          }
        },
      ),
      { seed: 404, numRuns: 200 },
    );
  }, 60_000);
});
