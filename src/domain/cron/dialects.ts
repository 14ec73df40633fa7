// Recognizes expressions of other schedulers and proposes our form of them in the text of a refusal. Nothing here is
// ever run.
//
// Most of them cannot be parsed as ours. Two can, and would fire at other times than intended, so `ambiguity` refuses
// them: six fields that start with minutes (EventBridge), and days of the week that count from 1 = Sunday (Quartz,
// EventBridge).

/** The probable intention. `cron` may turn out to be invalid; `note` states what to consider. */
export interface Proposal {
  readonly cron: string | null;
  readonly note?: string;
}

const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const HAS_WEEKDAY_NAME = /SUN|MON|TUE|WED|THU|FRI|SAT/i;
const HAS_MONTH_NAME = /JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC/i;
const YEAR = /^(?:19|20|21)\d\d(?:[-/,]\d+)*$/;
const YEAR_NOTE = 'there is no year field: Carillon-Start and Carillon-End bound a schedule';
const COUNTING_NOTE = 'in its day-of-week 1 is Sunday, here 1 is Monday, so names are safer';

const MACRO_MEANINGS: ReadonlyMap<string, string> = new Map([
  ['second', '@every 1s'],
  ['secondly', '@every 1s'],
  ['minute', '* * * * *'],
  ['minutely', '* * * * *'],
  ['hour', '@hourly'],
  ['hourly', '@hourly'],
  ['day', '@daily'],
  ['daily', '@daily'],
  ['midnight', '@midnight'],
  ['week', '@weekly'],
  ['weekly', '@weekly'],
  ['month', '@monthly'],
  ['monthly', '@monthly'],
  ['year', '@yearly'],
  ['yearly', '@yearly'],
  ['annually', '@yearly'],
]);

/** Returns the probable meaning of an expression that cannot be parsed; null when it resembles no known form. */
export function likelyMeaning(text: string): Proposal | null {
  return callMeaning(text) ?? wordMeaning(text) ?? calendarEventMeaning(text) ?? fieldsMeaning(text.split(/\s+/));
}

/**
 * Returns why fields that could be parsed as ours may mean something else, and what; null when they are ours. A `?`
 * must be the only item of a day field; it also shows that six fields are from Quartz or EventBridge.
 */
export function ambiguity(text: string): { readonly why: string; readonly proposal: Proposal | null } | null {
  const fields = text.split(/\s+/);
  const [monthDayAt, weekdayAt] = fields.length === 6 ? [3, 5] : [2, 4];
  const isMisplaced = (field: string, at: number): boolean =>
    field.includes('?') && (field !== '?' || (at !== monthDayAt && at !== weekdayAt));
  if (fields.some(isMisplaced)) {
    const why = 'a "?" stands alone in day-of-month or day-of-week; write "*" where every value matches';
    return { why, proposal: likelyMeaning(text) };
  }
  if (fields.length === 6 && fields[monthDayAt] === '?' && /(?:^|[,-])\d/.test(fields[weekdayAt] ?? '')) {
    const why =
      'with "?" in six fields a number in day-of-week has two meanings: in Quartz 1 is Sunday, in cron Monday; write names';
    return { why, proposal: fieldsMeaning(fields) };
  }
  return null;
}

/** Recognizes `cron(…)`, `rate(…)` and `at(…)` of EventBridge. */
function callMeaning(text: string): Proposal | null {
  const match = /^(cron|rate|at)\s*\((.*)\)$/i.exec(text);
  if (match === null) return null;
  const [, name = '', inner = ''] = match;
  if (name.toLowerCase() === 'at') {
    return { cron: null, note: 'a single time is published with Upstash-Not-Before, and not scheduled' };
  }
  if (name.toLowerCase() === 'rate') return wordMeaning(`every ${inner.trim()}`);
  const fields = inner.trim().split(/\s+/);
  if (fields.length === 6) return minuteFirst(fields, true);
  return { cron: fields.join(' ') };
}

/** Recognizes `every 5 minutes`, `5m`, `daily`, `every day at 9:05`. */
function wordMeaning(text: string): Proposal | null {
  const words = text.toLowerCase().replace(/^@/, '').replaceAll('_', ' ').trim();
  if (words === 'reboot') {
    return { cron: null, note: 'nothing here starts with a machine; publish a message from what starts it' };
  }
  const named = MACRO_MEANINGS.get(words.replace(/^every\s+/, ''));
  if (named !== undefined) return { cron: named };
  const daily = /^(?:every\s+day|daily)(?:\s+at)?\s+(\d{1,2}):(\d\d)$/.exec(words);
  if (daily !== null) return { cron: `${Number(daily[2])} ${Number(daily[1])} * * *` };
  const every = /^(?:every\s+)?(\d{1,9})\s*(s|m|h|d)(?:ec|econd|in|inute|r|our|ay)?s?$/.exec(words);
  return every === null ? null : { cron: `@every ${every[1] ?? ''}${every[2] ?? ''}` };
}

/** Recognizes systemd's `OnCalendar`: `Mon..Fri *-*-* 02:00:00`. */
function calendarEventMeaning(text: string): Proposal | null {
  const match =
    /^(?:([a-z.,]+)\s+)?(?:(\*|\d{4})-(\*|\d{1,2})-(\*|\d{1,2})\s+)?([\d*/,]+):([\d*/,]+)(?::([\d*/,]+))?$/i.exec(text);
  if (match === null) return null;
  const [, weekdays = '*', year = '*', month = '*', monthDay = '*', hour = '*', minute = '*', second = '0'] = match;
  const days = weekdays.replaceAll('..', '-').replace(/[a-z]+/gi, (name) => name.slice(0, 3).toUpperCase());
  const fields = [second, minute, hour, monthDay, month].map((field) => field.replace(/\b0+(?=\d)/g, ''));
  return { cron: withoutZeroSeconds([...fields, days]), ...(year !== '*' && { note: YEAR_NOTE }) };
}

function fieldsMeaning(fields: readonly string[]): Proposal | null {
  const last = fields.at(-1) ?? '';
  if (fields.length === 7 && (last === '*' || YEAR.test(last))) {
    const cron = withoutZeroSeconds([...fields.slice(0, 5), fromSundayIsOne(fields[5] ?? '')].map(anyDay));
    return { cron, ...noteOf(last, fields[5] ?? '') };
  }
  if (fields.length === 6 && isMinuteFirst(fields)) return minuteFirst(fields, fields.includes('?'));
  if (fields.length !== 5 && fields.length !== 6) return null;
  const readable = fields.map((field, at) => readableField(field, at + 6 - fields.length));
  if (fields.length === 6 && fields[3] === '?') {
    // Quartz: with "?" the days of the week count from 1 = Sunday.
    const weekday = fromSundayIsOne(fields[5] ?? '');
    if (weekday !== fields[5]) return { cron: withoutZeroSeconds([...readable.slice(0, 5), weekday]) };
  }
  const cron = readable.join(' ');
  return cron === fields.join(' ') ? null : { cron };
}

/** Returns whether six fields are minute, hour, day-of-month, month, day-of-week and year. */
function isMinuteFirst(fields: readonly string[]): boolean {
  const [, , monthDay = '', month = '', weekday = '', year = ''] = fields;
  if (YEAR.test(year)) return true;
  return monthDay === '?' || weekday === '?' || HAS_WEEKDAY_NAME.test(weekday) || HAS_MONTH_NAME.test(month);
}

function minuteFirst(fields: readonly string[], sundayIsOne: boolean): Proposal {
  const [minute = '', hour = '', monthDay = '', month = '', weekday = '', year = ''] = fields;
  const cron = [minute, hour, monthDay, month, sundayIsOne ? fromSundayIsOne(weekday) : weekday].map(anyDay).join(' ');
  return { cron, ...noteOf(year, sundayIsOne ? weekday : '') };
}

function noteOf(year: string, weekday: string): { note?: string } {
  if (year !== '*' && year !== '?') return { note: YEAR_NOTE };
  return /(?:^|[,-])\d/.test(weekday) ? { note: COUNTING_NOTE } : {};
}

const anyDay = (field: string): string => (field === '?' ? '*' : field);

function withoutZeroSeconds([second = '', ...others]: readonly string[]): string {
  const fields = /^0+$/.test(second) ? others : [second, ...others];
  return fields.map(anyDay).join(' ');
}

/** Returns a day-of-week field that counts from 1 = Sunday with names instead of numbers. */
function fromSundayIsOne(field: string): string {
  return field
    .split(',')
    .map((item) => {
      if (/^L$/i.test(item)) return 'SAT';
      const rule = /^([1-7])(L|#\d)$/i.exec(item);
      if (rule !== null) return `${Number(rule[1]) - 1}${rule[2] ?? ''}`;
      return item.replace(/^([1-7])(?:-([1-7]))?(?=\/|$)/, (_all, from: string, to?: string) =>
        [from, to].flatMap((day) => (day === undefined ? [] : [WEEKDAYS[Number(day) - 1] ?? day])).join('-'),
      );
    })
    .join(',');
}

const FIRST_VALUES = ['0', '0', '0', '1', '1', '0'];
const LAST_VALUES = ['59', '59', '23', '31', '12', '6'];

/** Returns a field of six without Jenkins's `H`, and with wrapping ranges written as two. */
function readableField(field: string, at: number): string {
  const first = FIRST_VALUES[at] ?? '0';
  return field
    .split(',')
    .map((item) => {
      const hashed = /^H(?:\((\d+)-(\d+)\))?(\/\d+)?$/i.exec(item);
      if (hashed === null) return roundRange(item, at);
      const [, from, to, step] = hashed;
      if (step === undefined) return from ?? first;
      return from === undefined ? `*${step}` : `${from}-${to ?? ''}${step}`;
    })
    .join(',');
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];

/** Splits a wrapping range: `22-2` of hours becomes `22-23,0-2`; anything else stays unchanged. */
function roundRange(item: string, at: number): string {
  const [, from = '', to = ''] = /^([0-9A-Z]+)-([0-9A-Z]+)$/i.exec(item) ?? [];
  if (from === '') return item;
  const names = at === 4 ? MONTHS : at === 5 ? WEEKDAYS : [];
  const [fromIndex, toIndex] = [names.indexOf(from.toUpperCase()), names.indexOf(to.toUpperCase())];
  const isNamed = fromIndex >= 0 && toIndex >= 0;
  if (isNamed ? fromIndex <= toIndex : !(Number(from) > Number(to))) return item;
  const first = isNamed ? (names[0] ?? '') : (FIRST_VALUES[at] ?? '');
  const last = isNamed ? (names.at(-1) ?? '') : (LAST_VALUES[at] ?? '');
  return `${upTo(from, last)},${upTo(first, to)}`;
}

/** Returns a range, or the single value when both ends are equal. */
function upTo(from: string, to: string): string {
  return from === to ? from : `${from}-${to}`;
}
