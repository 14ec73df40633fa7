// Issue 11, B2: an expression of another scheduler is never read as if it were ours; the refusal says how to write it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CarillonError } from '../../../../src/domain/errors.js';
import { parseCron } from '../../../../src/domain/cron/parse.js';
import { nextTimes } from '../../../../src/domain/cron/next-fire.js';
import { expressionOf } from '../../../../src/domain/schedule-change.js';

const FROM_MS = Date.UTC(2026, 0, 1);

function refusal(text: string): string {
  try {
    parseCron(text);
  } catch (error) {
    if (error instanceof CarillonError && error.code === 'INVALID_CRON') return error.message;
    throw error;
  }
  throw new Error(`${JSON.stringify(text)} was accepted`);
}

const proposed = (text: string): string | null => {
  const match = /did you mean ("(?:[^"\\]|\\.)*")/.exec(refusal(text));
  return match?.[1] === undefined ? null : (JSON.parse(match[1]) as string);
};

const firings = (text: string): string[] =>
  nextTimes(parseCron(text), FROM_MS, 5).map(({ utcMs }) => new Date(utcMs).toISOString());

describe('an expression of another scheduler', () => {
  it.each([
    // EventBridge: minute hour day-of-month month day-of-week year; its days of the week count from 1 = Sunday.
    ['0 2 * * ? *', '0 2 * * *'],
    ['*/5 * * * ? *', '*/5 * * * *'],
    ['0 12 ? * MON-FRI *', '0 12 * * MON-FRI'],
    ['0 12 ? * 2-6 *', '0 12 * * MON-FRI'],
    ['0 12 ? * 1 *', '0 12 * * SUN'],
    ['0 12 ? * 2,4,7 *', '0 12 * * MON,WED,SAT'],
    ['15 10 ? * 6L 2026-2030', '15 10 * * 5L'],
    ['15 10 ? * L *', '15 10 * * SAT'],
    ['0 10 ? * 3#2 *', '0 10 * * 2#2'],
    ['0 8 1 * ? 2027', '0 8 1 * *'],
    ['0 8 L * ? *', '0 8 L * *'],
    ['0/15 8-17 ? JAN-MAR MON *', '0/15 8-17 * JAN-MAR MON'],
    ['0 12 ? * * *', '0 12 * * *'],
    ['cron(0 2 * * ? *)', '0 2 * * *'],
    ['CRON( 0 12 ? * 2-6 * )', '0 12 * * MON-FRI'],
    ['cron(0 2 * * *)', '0 2 * * *'],
    ['rate(5 minutes)', '@every 5m'],
    ['rate(1 hour)', '@every 1h'],
    ['rate(7 days)', '@every 7d'],
    // A year after five fields.
    ['0 2 * * * 2027', '0 2 * * *'],
    ['0 2 * * * 2026-2030', '0 2 * * *'],
    ['0 2 * * * 2026/2', '0 2 * * *'],
    ['0 12 * * MON-FRI *', '0 12 * * MON-FRI'],
    ['0 12 1 JAN * *', '0 12 1 JAN *'],
    // Quartz: seconds first, and perhaps a year.
    ['0 0 12 * * ? *', '0 12 * * *'],
    ['0 0 12 * * ? 2027', '0 12 * * *'],
    ['30 0 12 ? * 2 *', '30 0 12 * * MON'],
    ['0 0 12 ? * 2', '0 12 * * MON'],
    ['0 0 12 ? * 2-6', '0 12 * * MON-FRI'],
    ['0 0 12 ? * 6L', '0 12 * * 5L'],
    ['0 0 12 ? * 6#3', '0 12 * * 5#3'],
    ['0 0 12 ? * 7', '0 12 * * SAT'],
    ['0 0 12 ? * L', '0 12 * * SAT'],
    // Jenkins.
    ['H * * * *', '0 * * * *'],
    ['H/15 * * * *', '*/15 * * * *'],
    ['H H * * 1-5', '0 0 * * 1-5'],
    ['H(30-59)/10 H(2-5) * * *', '30-59/10 2 * * *'],
    // systemd.
    ['*-*-* 02:00:00', '0 2 * * *'],
    ['Mon..Fri 09:30', '30 9 * * MON-FRI'],
    ['Mon,Fri *-*-* 09:30:15', '15 30 9 * * MON,FRI'],
    ['*-*-01 00:00', '0 0 1 * *'],
    ['*:0/15', '0/15 * * * *'],
    // Words.
    ['every 5 minutes', '@every 5m'],
    ['@every 5 minutes', '@every 5m'],
    ['Every 2 hours', '@every 2h'],
    ['every minute', '* * * * *'],
    ['every day at 9:05', '5 9 * * *'],
    ['5m', '@every 5m'],
    ['daily', '@daily'],
    ['@dialy', '@daily'],
    ['@minutely', '* * * * *'],
    ['@every_minute', '* * * * *'],
    // Ranges that go round.
    ['0 22-2 * * *', '0 22-23,0-2 * * *'],
    ['0 0 * * FRI-MON', '0 0 * * FRI-SAT,SUN-MON'],
    ['0 0 * * 5-1', '0 0 * * 5-6,0-1'],
    ['0 0 * NOV-FEB *', '0 0 * NOV-DEC,JAN-FEB *'],
    ['50-10 * * * *', '50-59,0-10 * * * *'],
    ['0 0 25-5 * *', '0 0 25-31,1-5 * *'],
  ])('%j is refused: did you mean %j?', (text, meant) => {
    expect(proposed(text)).toBe(meant);
    expect(() => parseCron(meant)).not.toThrow();
    expect(() => parseCron(`CRON_TZ=Europe/Kyiv ${text}`)).toThrow('did you mean');
  });

  it('with a year is told what bounds one here', () => {
    for (const text of ['0 2 * * ? 2027', '0 0 12 * * ? 2027', '0 2 * * * 2027']) {
      expect(refusal(text)).toContain('Carillon-Start and Carillon-End');
    }
    expect(refusal('0 2 * * ? *')).not.toContain('Carillon-Start');
  });

  it('for a single time, or the start of a machine, is told what there is instead', () => {
    expect(refusal('at(2026-11-20T13:00:00)')).toContain('Upstash-Not-Before');
    expect(refusal('@reboot')).toContain('nothing here starts with a machine');
    expect(refusal('0 0 12 ? * 2')).toContain('in Quartz 1 is Sunday');
  });

  it('gets no proposal that cannot be read', () => {
    for (const text of ['0 99 * * ? *', 'cron(nonsense)', 'rate(0 minutes)', 'rate(5 fortnights)', 'every 500 days']) {
      expect(proposed(text)).toBeNull();
    }
  });
});

describe('"?"', () => {
  it.each(['? 2 * * *', '0 ? * * *', '0 2 * ? *', '? 0 2 * * *', '0 ? 2 * * *', '0 2 1-5,? * *', '0 2 ?/2 * *'])(
    'where it does not stand alone in a day field is refused: %s',
    (text) => {
      expect(refusal(text)).toContain('"?" stands alone in day-of-month or day-of-week');
    },
  );

  it.each([
    ['0 12 ? * MON', '0 12 * * MON'],
    ['0 12 1 * ?', '0 12 1 * *'],
    ['0 0 12 * * ?', '0 12 * * *'],
    ['0 0 12 ? * MON-FRI', '0 12 * * MON-FRI'],
    ['0 0 12 ? * */2', '0 12 * * */2'],
    ['0 0 12 ? * FRIL', '0 12 * * 5L'],
  ])('alone in a day field it stands for any day: %s', (text, same) => {
    expect(firings(text)).toEqual(firings(same));
  });
});

it('no six fields with "?" are read otherwise than by Quartz', () => {
  const field = fc.constantFrom('*', '?', '0', '1', '2', '*/2', '1-5', 'MON', 'JAN', '2027', 'L');
  fc.assert(
    fc.property(fc.array(field, { minLength: 6, maxLength: 6 }), (fields) => {
      fc.pre(fields.includes('?'));
      try {
        parseCron(fields.join(' '));
      } catch (error) {
        return error instanceof CarillonError && error.code === 'INVALID_CRON';
      }
      const [second, minute, hour, , month, weekday = ''] = fields;
      return ![second, minute, hour, month].includes('?') && !(fields[3] === '?' && /^\d/.test(weekday));
    }),
    { seed: 20_260_901, numRuns: 5_000 },
  );
});

it('a schedule of before still fires as it did', () => {
  const next = nextTimes(expressionOf({ cron: '0 2 * * ? *', timeZone: null }), FROM_MS, 2);
  expect(next.map(({ local }) => local)).toEqual(['2026-01-01T00:02:00+00:00', '2026-01-01T01:02:00+00:00']);
});
