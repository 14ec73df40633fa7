// Parses the five or six fields of a cron text: checks each item so that an error can name it, and lets cron-parser
// expand the lists.
import { CronExpressionParser, type CronFieldCollection } from 'cron-parser';
import { CarillonError } from '../errors.js';
import type { MonthDayRule, WeekdayRule } from './day-masks.js';

export interface CronField<Rule = never> {
  readonly text: string;
  /** The text starts with `*` or `?`. */
  readonly startsWithWildcard: boolean;
  /** Some item allows everything: `*`, `?`, or a step of one over them. */
  readonly unrestricted: boolean;
  /** Plain numbers, expanded; empty when there are only rules. Weekdays are 0-6. */
  readonly values: readonly number[];
  readonly rules: readonly Rule[];
}

export interface CronFields {
  readonly second: CronField;
  readonly minute: CronField;
  readonly hour: CronField;
  readonly monthDay: CronField<MonthDayRule>;
  readonly month: CronField;
  readonly weekday: CronField<WeekdayRule>;
}

interface FieldSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** The number of different values: a larger step cannot be intended. */
  readonly size: number;
  readonly names: readonly string[];
  /** The value of the first name. */
  readonly firstName: number;
  readonly example: string;
}

const MONTH_NAMES = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAY_NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const numeric = (name: string, max: number, example: string): FieldSpec => ({
  name,
  min: 0,
  max,
  size: max + 1,
  names: [],
  firstName: 0,
  example,
});
const SECOND = numeric('second', 59, '*, 5, 0-30, */15 or a list of these');
const MINUTE = numeric('minute', 59, '*, 5, 0-30, */15 or a list of these');
const HOUR = numeric('hour', 23, '*, 5, 9-17, */2 or a list of these');
const MONTH_DAY: FieldSpec = {
  ...numeric('day-of-month', 31, '*, ?, 5, 1-15, */2, L, L-3, LW, 15W or a list of these'),
  min: 1,
  size: 31,
};
const MONTH: FieldSpec = {
  ...numeric('month', 12, '*, 5, 1-6, */3, JAN, JAN-MAR or a list of these'),
  min: 1,
  size: 12,
  names: MONTH_NAMES,
  firstName: 1,
};
const WEEKDAY: FieldSpec = {
  ...numeric('day-of-week', 7, '*, ?, 1, 1-5, MON-FRI, 5L, 5#3 or a list of these (0 and 7 are Sunday)'),
  size: 7,
  names: WEEKDAY_NAMES,
};

function fieldError(spec: FieldSpec, why: string): CarillonError {
  return new CarillonError('INVALID_CRON', `cron field "${spec.name}": ${why}`);
}

/**
 * Parses fields separated by blanks, without prefix or macro.
 *
 * @throws CarillonError INVALID_CRON naming the field and its error.
 */
export function readFields(text: string): CronFields {
  const texts = text.split(/\s+/);
  if (texts.length !== 5 && texts.length !== 6) {
    const hint = texts.length === 7 ? '; a year field is not supported' : '';
    throw new CarillonError(
      'INVALID_CRON',
      `cron expression has ${texts.length} field${texts.length === 1 ? '' : 's'}: expected 5 (minute hour day-of-month month day-of-week) or 6 with seconds first${hint}`,
    );
  }
  if (texts.length === 5) texts.unshift('0');
  const [second = '', minute = '', hour = '', monthDay = '', month = '', weekday = ''] = texts;
  const judged = {
    second: judge<never>(SECOND, second, noRule),
    minute: judge<never>(MINUTE, minute, noRule),
    hour: judge<never>(HOUR, hour, noRule),
    monthDay: judge(MONTH_DAY, monthDay, monthDayRule),
    month: judge<never>(MONTH, month, noRule),
    weekday: judge(WEEKDAY, weekday, weekdayRule),
  };
  const expanded = expand(judged);
  return {
    second: finish(judged.second, expanded.second),
    minute: finish(judged.minute, expanded.minute),
    hour: finish(judged.hour, expanded.hour),
    monthDay: finish(judged.monthDay, expanded.monthDay),
    month: finish(judged.month, expanded.month),
    weekday: finish(judged.weekday, expanded.weekday),
  };
}

type PlainItems = Readonly<Record<keyof CronFields, { readonly plain: readonly string[] }>>;

/**
 * Returns the values of the plain items. cron-parser refuses lists whose items overlap (`1-5,3`), which are common in
 * cron, so it gets the first item of each field, then the second of each, and so on. It also refuses days that the only
 * given month does not have. That check is ours, so it gets months with the first day of the month.
 */
function expand(fields: PlainItems): Record<keyof CronFields, number[]> {
  const values = { second: [], minute: [], hour: [], monthDay: [], month: [], weekday: [] } as Record<
    keyof CronFields,
    number[]
  >;
  const rows = Math.max(...Object.values(fields).map(({ plain }) => plain.length));
  for (let row = 0; row < rows; row++) {
    const item = (field: keyof CronFields): string => fields[field].plain[row] ?? '*';
    const read = parseRow(
      `${item('second')} ${item('minute')} ${item('hour')} ${item('monthDay')} * ${item('weekday')}`,
    );
    const months = fields.month.plain[row] === undefined ? null : parseRow(`0 0 0 1 ${item('month')} *`).month;
    const add = (field: keyof CronFields, found: readonly (number | string)[]): void => {
      if (fields[field].plain[row] !== undefined) for (const value of found) values[field].push(Number(value));
    };
    add('second', read.second.values);
    add('minute', read.minute.values);
    add('hour', read.hour.values);
    add('monthDay', read.dayOfMonth.values);
    add('month', months?.values ?? []);
    add(
      'weekday',
      read.dayOfWeek.values.map((value) => Number(value) % 7),
    );
  }
  return values;
}

/** cron-parser would read the clock otherwise; only the fields are used. */
const READ_AT = { currentDate: new Date(0), tz: 'UTC' };

function parseRow(text: string): CronFieldCollection {
  try {
    return CronExpressionParser.parse(text, READ_AT).fields;
  } catch (error) {
    throw new CarillonError('INVALID_CRON', `cron expression cannot be read as ${quote(text)}`, { cause: error });
  }
}

interface JudgedField<Rule> {
  readonly text: string;
  readonly unrestricted: boolean;
  /** The different plain items in the form for cron-parser, names resolved. */
  readonly plain: readonly string[];
  readonly rules: readonly Rule[];
}

function finish<Rule>(field: JudgedField<Rule>, values: readonly number[]): CronField<Rule> {
  return {
    text: field.text,
    startsWithWildcard: field.text.startsWith('*') || field.text.startsWith('?'),
    unrestricted: field.unrestricted,
    values: [...new Set(values)].sort((a, b) => a - b),
    rules: field.rules,
  };
}

function judge<Rule>(spec: FieldSpec, text: string, readRule: (item: string) => Rule | null): JudgedField<Rule> {
  const plain = new Set<string>();
  const rules: Rule[] = [];
  let unrestricted = false;
  for (const item of text.split(',')) {
    if (item === '') throw fieldError(spec, `an item of the list ${quote(text)} is empty`);
    const rule = readRule(item.toUpperCase());
    if (rule !== null) {
      rules.push(rule);
      continue;
    }
    plain.add(plainItem(spec, item));
    unrestricted ||= /^[*?](?:\/0*1)?$/.test(item);
  }
  return { text, unrestricted, plain: [...plain], rules };
}

/** Checks `*`, `n`, `n-m` and their steps, and returns them with numbers only. */
function plainItem(spec: FieldSpec, item: string): string {
  const match = /^(?:([*?])|([0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?)(?:\/([0-9]+))?$/.exec(item);
  if (match === null) throw fieldError(spec, `cannot read ${quote(item)}, expected ${spec.example}`);
  const [, wildcard, fromText, toText, stepText] = match;
  const step = stepText === undefined ? '' : `/${checkedStep(spec, stepText)}`;
  if (wildcard !== undefined || fromText === undefined) return `*${step}`;
  const from = valueOf(spec, fromText);
  if (toText === undefined) return `${from}${step}`;
  let to = valueOf(spec, toText);
  // "FRI-SUN" means the end of the week, although Sunday's number is also the smallest.
  if (spec === WEEKDAY && to === 0 && from > 0 && toText.toUpperCase() === 'SUN') to = 7;
  if (from > to) throw fieldError(spec, `the range ${quote(`${fromText}-${toText}`)} runs backwards`);
  return `${from}-${to}${step}`;
}

function valueOf(spec: FieldSpec, text: string): number {
  if (/^[0-9]+$/.test(text)) {
    const value = Number(text);
    if (value >= spec.min && value <= spec.max) return value;
    throw fieldError(spec, `${text.slice(0, 20)} is out of range ${spec.min}-${spec.max}`);
  }
  const index = spec.names.indexOf(text.toUpperCase());
  if (index >= 0) return index + spec.firstName;
  const names = spec.names.length > 0 ? ` or ${spec.names[0] ?? ''}-${spec.names.at(-1) ?? ''}` : '';
  throw fieldError(spec, `cannot read ${quote(text)}, expected a number ${spec.min}-${spec.max}${names}`);
}

function checkedStep(spec: FieldSpec, text: string): number {
  const step = Number(text);
  if (step < 1) throw fieldError(spec, 'a step must be at least 1');
  if (step <= spec.size) return step;
  // A step restarts with each cycle of its field, so a larger one would silently mean something else.
  const hint =
    spec === SECOND || spec === MINUTE || spec === HOUR
      ? `; "@every ${text.slice(0, 10)}${spec.name.charAt(0)}" counts through`
      : '';
  throw fieldError(spec, `the step ${text.slice(0, 20)} is larger than the field, ${spec.min}-${spec.max}${hint}`);
}

const noRule = (): null => null;

function monthDayRule(item: string): MonthDayRule | null {
  if (item === 'LW' || item === 'WL') return { kind: 'last-weekday' };
  if (item === 'L') return { kind: 'last', daysBefore: 0 };
  const before = /^L-([0-9]+)$/.exec(item);
  if (before?.[1] !== undefined) {
    const daysBefore = Number(before[1]);
    if (daysBefore > 30) throw fieldError(MONTH_DAY, `${quote(item)} is more than 30 days before the last`);
    return { kind: 'last', daysBefore };
  }
  const nearest = /^([0-9]+)W$/.exec(item);
  if (nearest?.[1] !== undefined) return { kind: 'nearest-weekday', day: valueOf(MONTH_DAY, nearest[1]) };
  return null;
}

function weekdayRule(item: string): WeekdayRule | null {
  if (item === 'L') throw fieldError(WEEKDAY, 'L needs a weekday before it, e.g. 5L for the last Friday of the month');
  const match = /^([0-9A-Z]+?)(?:(L)|#([0-9]+))$/.exec(item);
  if (match?.[1] === undefined) return null;
  const weekday = valueOf(WEEKDAY, match[1]) % 7;
  if (match[2] !== undefined) return { kind: 'last', weekday };
  const nth = Number(match[3]);
  if (nth < 1 || nth > 5) throw fieldError(WEEKDAY, `${quote(item)}: a month has the weekday 1 to 5 times`);
  return { kind: 'nth', weekday, nth };
}

/** Quotes a user's text for an error text: JSON, so that control characters show, and of bounded length. */
function quote(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
