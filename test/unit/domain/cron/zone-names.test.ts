// Issue 11, B1: a zone is a name of the IANA database and nothing else, and what is stored already is read as before.
import { describe, expect, it } from 'vitest';
import { IANA_NAMES } from '../../../../src/domain/cron/iana-names.js';
import { parseCron } from '../../../../src/domain/cron/parse.js';
import { timeZone } from '../../../../src/domain/cron/time-zone.js';
import { ianaName } from '../../../../src/domain/cron/zone-names.js';
import { expressionOf } from '../../../../src/domain/schedule-change.js';

/** Names that ICU knows and IANA does not: its legacy three-letter ids, and what it keeps of other systems. */
const ICU_ONLY = [
  ...['ACT', 'AET', 'AGT', 'ART', 'AST', 'BET', 'BST', 'CAT', 'CNT', 'CST', 'CTT', 'EAT', 'ECT', 'IET', 'IST', 'JST'],
  ...['MIT', 'NET', 'NST', 'PLT', 'PNT', 'PRT', 'PST', 'SST', 'VST', 'US/Pacific-New', 'Canada/East-Saskatchewan'],
  ...['SystemV/AST4', 'SystemV/AST4ADT', 'SystemV/CST6CDT', 'SystemV/EST5', 'SystemV/HST10', 'SystemV/MST7'],
  ...['SystemV/PST8', 'SystemV/PST8PDT', 'SystemV/YST9', 'SystemV/YST9YDT'],
];

describe('the names of the IANA database', () => {
  it('are known to Intl, each of them', () => {
    const unknown = IANA_NAMES.filter((name) => {
      try {
        new Intl.DateTimeFormat('en', { timeZone: name });
        return false;
      } catch {
        return true;
      }
    });
    expect(unknown).toEqual([]);
    expect(IANA_NAMES.length).toBeGreaterThan(590);
  });

  it('have among them all zones of Intl', () => {
    expect(Intl.supportedValuesOf('timeZone').filter((name) => ianaName(name) !== name)).toEqual([]);
  });

  it.each(['EST', 'GB', 'PST8PDT', 'US/Pacific', 'Etc/GMT+5', 'UTC', 'GMT0', 'GMT+0', 'Asia/Calcutta', 'Europe/Kyiv'])(
    '%s is accepted in any case and kept in its own spelling',
    (name) => {
      for (const text of [name, name.toLowerCase(), name.toUpperCase()]) {
        expect(ianaName(text)).toBe(name);
        expect(parseCron('0 2 * * *', { timeZone: text }).timeZone).toBe(name);
      }
    },
  );
});

describe('another name', () => {
  it.each(ICU_ONLY)('%s, which only ICU has, is refused with what was meant', (name) => {
    for (const text of [name, name.toLowerCase()]) {
      expect(() => parseCron('0 2 * * *', { timeZone: text })).toThrow(/unknown time zone .*did you mean /);
      expect(() => parseCron(`CRON_TZ=${text} 0 2 * * *`)).toThrow(/unknown time zone .*did you mean /);
    }
  });

  it.each([
    ['PST', 'America/Los_Angeles'],
    ['PDT', 'America/Los_Angeles'],
    ['BST', 'Europe/London'],
    ['IST', 'Asia/Kolkata, Europe/Dublin or Asia/Jerusalem'],
    ['CST', 'America/Chicago or Asia/Shanghai'],
    ['CEST', 'Europe/Berlin'],
    ['AEST', 'Australia/Sydney'],
    ['Amercia/New_York', 'America/New_York'],
    ['America/NewYork', 'America/New_York'],
    ['America/New York', 'America/New_York'],
    ['New York', 'America/New_York'],
    ['berlin', 'Europe/Berlin'],
    [':Europe/Berlin', 'Europe/Berlin'],
    ['"Europe/Berlin"', 'Europe/Berlin'],
    ['posix/Europe/Berlin', 'Europe/Berlin'],
    ['Eastern Standard Time', 'America/New_York'],
    ['US/Pacific-New', 'US/Pacific'],
    ['SystemV/PST8PDT', 'PST8PDT'],
    ['SystemV/PST8', 'Etc/GMT+8'],
    ['EST5EDT,M3.2.0,M11.1.0', 'EST5EDT'],
    ['+02:00', 'Etc/GMT-2'],
    ['-0800', 'Etc/GMT+8'],
    ['GMT+2', 'Etc/GMT-2'],
    ['UTC-3', 'Etc/GMT+3'],
    ['utc+14', 'Etc/GMT-14'],
    ['Etc/UTC+5', 'Etc/GMT-5'],
    ['Etc/GMT+14', 'Etc/GMT-14'],
    ['UTC+0', 'UTC'],
    ['+00:00', 'UTC'],
    ['Z', 'UTC'],
  ])('%s is refused: did you mean %s?', (name, meant) => {
    expect(() => ianaName(name)).toThrow(`did you mean ${meant}?`);
    for (const one of meant.split(/, | or /)) expect(ianaName(one)).toBe(one);
  });

  it('that is an offset is refused with the sign explained, or with a place when no zone has it', () => {
    expect(() => ianaName('+02:00')).toThrow('the sign of these names is inverted: it is 2 hours ahead of UTC');
    expect(() => ianaName('GMT-7')).toThrow('did you mean Etc/GMT+7? the sign of these names is inverted');
    expect(() => ianaName('UTC+5:30')).toThrow(
      'no zone is named by such an offset: name a place, such as Asia/Kolkata',
    );
    expect(() => ianaName('+05:17')).toThrow(/no zone is named by such an offset: name a place$/);
    expect(() => ianaName('UTC-13')).toThrow(/no zone is named by such an offset: name a place$/);
  });

  it.each(['', 'Factory', 'Local', 'localtime', 'Mars/Base', 'Etc/Unknown', '__proto__', 'x'.repeat(5_000)])(
    '%j is refused without a guess that has nothing to do with it',
    (name) => {
      expect(() => ianaName(name)).toThrow(
        /^unknown time zone .*expected an IANA name such as America\/New_York or UTC$/,
      );
    },
  );
});

describe('a schedule of before', () => {
  it('still fires in the zone that its row names', () => {
    const at = expressionOf({ cron: '0 2 * * *', timeZone: 'BST' });
    expect(at.zone).toBe(timeZone('Asia/Dhaka'));
    expect(expressionOf({ cron: 'CRON_TZ=PST 0 2 * * *', timeZone: null }).zone).toBe(timeZone('America/Los_Angeles'));
    expect(() => parseCron('0 2 * * *', { timeZone: 'BST' })).toThrow('Europe/London');
  });
});
