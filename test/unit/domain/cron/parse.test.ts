// What cron texts are read, what they mean, and what the refusal of the others says.
import { describe, expect, it } from 'vitest';
import { CarillonError } from '../../../../src/domain/errors.js';
import { nextFire, nextTimes } from '../../../../src/domain/cron/next-fire.js';
import { MAX_CRON_LENGTH, parseCron, parseCronCached } from '../../../../src/domain/cron/parse.js';

const FROM_MS = Date.parse('2026-01-01T00:00:00Z');

/** Two texts mean the same when they fire alike. */
function firings(text: string): number[] {
  return nextTimes(parseCron(text), FROM_MS, 30).map(({ utcMs }) => utcMs);
}

function refusal(text: string, timeZone?: string): string {
  try {
    parseCron(text, timeZone === undefined ? {} : { timeZone });
  } catch (error) {
    expect(error).toBeInstanceOf(CarillonError);
    expect((error as CarillonError).code).toBe('INVALID_CRON');
    return (error as CarillonError).message;
  }
  throw new Error(`${JSON.stringify(text)} was accepted`);
}

describe('what is read', () => {
  it.each([
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
    ['@monthly', '0 0 1 * *'],
    ['@weekly', '0 0 * * 0'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@hourly', '0 * * * *'],
    ['@Daily', '0 0 * * *'],
    ['0 12 ? * ?', '0 12 * * *'],
    ['0 0 * jan,MAR-may Mon-Fri', '0 0 * 1,3-5 1-5'],
    ['0 0 * * 7', '0 0 * * SUN'],
    ['0 0 * * 5-7', '0 0 * * 0,5,6'],
    ['0 0 * * fri-sun', '0 0 * * 5-7'],
    ['00 09 01 01 *', '0 9 1 1 *'],
    ['5/20 * * * *', '5,25,45 * * * *'],
    ['10-30/10 * * * *', '10,20,30 * * * *'],
    ['0 15 10 * * *', '15 10 * * *'],
    ['*/60 */24 * * *', '0 0 * * *'],
    ['  0   12\t* * *  ', '0 12 * * *'],
    ['0 0 */1 * 1', '0 0 * * 1'],
    ['5,5,5 0 * * *', '5 0 * * *'],
    ['0 0 1-5,3,2-4 * *', '0 0 1-5 * *'],
    ['0 0 * * 0,7,SUN', '0 0 * * 0'],
    ['0 0 1,15W 1,3 *', '0 0 1,15W 3,1 *'],
    ['0 9,* * * *', '0 0-23 * * *'],
    ['@every 1m30s', '@every 90s'],
    ['@every 1h', '@every 3600s'],
  ])('%s means %s', (text, same) => {
    expect(firings(text)).toEqual(firings(same));
  });

  it('takes the zone from the prefix, from beside, or is UTC', () => {
    expect(parseCron('CRON_TZ=America/New_York 0 4 * * *').timeZone).toBe('America/New_York');
    expect(parseCron('TZ=Europe/Kyiv @daily').timeZone).toBe('Europe/Kyiv');
    expect(parseCron('0 4 * * *', { timeZone: 'Asia/Tokyo' }).timeZone).toBe('Asia/Tokyo');
    expect(parseCron('0 4 * * *').timeZone).toBe('UTC');
    expect(parseCron('CRON_TZ=America/New_York 0 4 * * *', { timeZone: 'america/new_york' }).text).toBe(
      'CRON_TZ=America/New_York 0 4 * * *',
    );
    expect(nextFire(parseCron('CRON_TZ=America/New_York 0 4 * * *'), FROM_MS)?.atMs).toBe(
      Date.parse('2026-01-01T09:00:00Z'),
    );
  });

  it('says how the two day fields go together', () => {
    expect(parseCron('0 0 13 * 5').dayRule).toBe('or');
    expect(parseCron('0 0 */2 * 1').dayRule).toBe('or');
    expect(parseCron('0 0 L * 1#1').dayRule).toBe('or');
    expect(parseCron('0 0 13 * *').dayRule).toBeNull();
    expect(parseCron('0 0 ? * 5').dayRule).toBeNull();
    expect(parseCron('0 0 */1 * 5').dayRule).toBeNull();
    expect(parseCron('@every 90s').dayRule).toBeNull();
  });

  it('remembers what it has parsed, apart for each zone', () => {
    const first = parseCronCached('1 2 3 4 *', { timeZone: 'Asia/Tokyo' });
    expect(parseCronCached('1 2 3 4 *', { timeZone: 'Asia/Tokyo' })).toBe(first);
    expect(parseCronCached('1 2 3 4 *')).not.toBe(first);
    expect(() => parseCronCached('1 2 3 4')).toThrow(CarillonError);
  });
});

describe('what is refused', () => {
  it.each([
    ['0 25 * * *', 'cron field "hour": 25 is out of range 0-23'],
    ['60 * * * *', 'cron field "minute": 60 is out of range 0-59'],
    ['0-60 * * * *', 'cron field "minute": 60 is out of range 0-59'],
    ['61 0 0 * * *', 'cron field "second": 61 is out of range 0-59'],
    ['0 0 0 * *', 'cron field "day-of-month": 0 is out of range 1-31'],
    ['0 0 32 * *', 'cron field "day-of-month": 32 is out of range 1-31'],
    ['0 0 32W * *', 'cron field "day-of-month": 32 is out of range 1-31'],
    ['0 0 L-31 * *', 'cron field "day-of-month": "L-31" is more than 30 days before the last'],
    ['0 0 1 13 *', 'cron field "month": 13 is out of range 1-12'],
    ['0 0 1 FOO *', 'cron field "month": cannot read "FOO", expected a number 1-12 or JAN-DEC'],
    ['0 0 * * 8', 'cron field "day-of-week": 8 is out of range 0-7'],
    ['0 0 * * MOON', 'cron field "day-of-week": cannot read "MOON", expected a number 0-7 or SUN-SAT'],
    ['0 0 * * L', 'cron field "day-of-week": L needs a weekday before it'],
    ['0 0 * * 5#6', 'cron field "day-of-week": "5#6": a month has the weekday 1 to 5 times'],
    ['0 22-2 * * *', 'cron field "hour": the range "22-2" runs backwards'],
    ['*/90 * * * *', 'cron field "minute": the step 90 is larger than the field, 0-59; "@every 90m" counts through'],
    ['*/0 * * * *', 'cron field "minute": a step must be at least 1'],
    ['1,,2 * * * *', 'cron field "minute": an item of the list "1,,2" is empty'],
    ['1- * * * *', 'cron field "minute": cannot read "1-"'],
    ['*5 * * * *', 'cron field "minute": cannot read "*5"'],
    ['1.5 * * * *', 'cron field "minute": cannot read "1.5"'],
    ['-1 * * * *', 'cron field "minute": cannot read "-1"'],
    ['H * * * *', 'cron field "minute": cannot read "H"'],
    ['L * * * *', 'cron field "minute": cannot read "L"'],
    ['0 0 * * 15W', 'cron field "day-of-week": cannot read "15W"'],
    ['\0 * * * *', 'cron field "minute": cannot read "\\u0000"'],
    ['* * * *', 'cron expression has 4 fields: expected 5 (minute hour day-of-month month day-of-week) or 6'],
    ['0 0 0 1 1 * 2027', 'cron expression has 7 fields: expected 5'],
    ['0 0 0 1 1 * 2027', 'a year field is not supported'],
    ['', 'cron expression is empty'],
    ['   ', 'cron expression is empty'],
    ['CRON_TZ=UTC', 'cron expression is empty'],
    ['CRON_TZ=Mars/Base * * * * *', 'unknown time zone "Mars/Base": expected an IANA name'],
    ['CRON_TZ= * * * * *', 'unknown time zone ""'],
    ['CRON_TZ=+05:30 * * * * *', 'unknown time zone "+05:30"'],
    ['@fortnightly', 'cron macro "@fortnightly" is unknown: expected @yearly'],
    ['@every', 'cron "@every": expected a duration such as 10s'],
    ['@every 500ms', 'cron "@every": must be at least 1s'],
    ['@every 1500ms', 'cron "@every": expected whole seconds, got "1500ms"'],
    ['@every 10', 'cron "@every": a unit is missing'],
    ['@every -5s', 'cron "@every": a duration cannot be negative'],
    ['@every 400d', 'cron "@every": must be at most 366d'],
    ['@every 5 s', 'cron "@every": expected a duration'],
    ['0 0 30 2 *', 'cron expression can never fire: no month of "2" has the day "30"'],
    ['0 0 31 4,6,9,11 *', 'cron expression can never fire: no month of "4,6,9,11" has the day "31"'],
    ['0 0 30W FEB *', 'cron expression can never fire'],
    ['0 0 L-30 4 *', 'cron expression can never fire'],
  ])('%j: %s', (text, why) => {
    expect(refusal(text)).toContain(why);
  });

  it('refuses two different zones', () => {
    expect(refusal('CRON_TZ=Asia/Tokyo 0 0 * * *', 'UTC')).toBe(
      'two time zones are given: Asia/Tokyo in the cron expression and UTC beside it; give one',
    );
    expect(refusal('0 0 * * *', 'Nowhere')).toContain('unknown time zone "Nowhere"');
  });

  it('bounds the length of a text and of the error about it', () => {
    expect(refusal(`${'1,'.repeat(MAX_CRON_LENGTH)}1 * * * *`)).toContain('at most 1024');
    const text = `${'1,'.repeat(490)}x * * * *`;
    expect(refusal(text).length).toBeLessThan(200);
    expect(refusal(`${'9'.repeat(1000)} * * * *`).length).toBeLessThan(200);
    expect(refusal(`* * * * ${'MON,'.repeat(200)}`).length).toBeLessThan(200);
  });

  it('accepts 30 February when a weekday can match instead, since both day fields mean either', () => {
    expect(nextFire(parseCron('0 0 30 2 1'), FROM_MS)?.atMs).toBe(Date.parse('2026-02-02T00:00:00Z'));
  });
});
