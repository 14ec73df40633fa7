// Parses the text of a schedule to a CronExpression: zone prefix, macros such as @daily, @every, and the fields.
import { LRUCache } from 'lru-cache';
import { DAY_MS, parseDuration, SECOND_MS } from '../duration.js';
import { CarillonError } from '../errors.js';
import { nearestWithin } from '../nearest-name.js';
import { buildDayMasks, shapeIndex } from './day-masks.js';
import { ambiguity, likelyMeaning, type Proposal } from './dialects.js';
import type { CronExpression } from './expression.js';
import { readFields, type CronFields } from './fields.js';
import { timeZone, type TimeZone } from './time-zone.js';
import { ianaName } from './zone-names.js';

/** A text that lists every value of every field is shorter than this. */
export const MAX_CRON_LENGTH = 1024;
const MIN_EVERY_MS = SECOND_MS;
const MAX_EVERY_MS = 366 * DAY_MS;
const MAX_CACHED_EXPRESSIONS = 4096;

const MACROS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

export interface ParseCronOptions {
  /** IANA name. A `CRON_TZ=` prefix in the text must name the same zone. Default UTC. */
  readonly timeZone?: string;
  /**
   * Whether the text was accepted earlier. It is parsed by the rules of that time, since a schedule must not stop
   * because of a newer rule: this includes zones that only ICU knows, and fields that another scheduler would read
   * differently.
   */
  readonly stored?: boolean;
}

/**
 * Parses a cron text: `[CRON_TZ=zone ]` and five fields, six with seconds first, a macro, or `@every 90s`.
 *
 * @throws CarillonError INVALID_CRON with the field, the reason and the probable meaning; also for an expression that
 * can never fire, and for one that another scheduler reads differently.
 */
export function parseCron(text: string, options: ParseCronOptions = {}): CronExpression {
  if (text.length > MAX_CRON_LENGTH) {
    throw new CarillonError(
      'INVALID_CRON',
      `cron expression is ${text.length} characters long: at most ${MAX_CRON_LENGTH} are allowed`,
    );
  }
  const trimmed = text.trim();
  const { zoneName, zone, rest } = readZone(trimmed, options);
  if (rest === '') throw new CarillonError('INVALID_CRON', 'cron expression is empty: expected 5 or 6 fields');
  const common = { text: trimmed, timeZone: zoneName, zone };
  let expression: CronExpression;
  try {
    expression = readExpression(rest, common);
  } catch (error) {
    throw error instanceof CarillonError ? withProposal(error, likelyMeaning(rest)) : error;
  }
  const other = options.stored === true || rest.startsWith('@') ? null : ambiguity(rest);
  if (other === null) return expression;
  throw withProposal(new CarillonError('INVALID_CRON', `cron expression is ambiguous: ${other.why}`), other.proposal);
}

type Common = Pick<CronExpression, 'text' | 'timeZone' | 'zone'>;

function readExpression(rest: string, common: Common): CronExpression {
  if (rest.startsWith('@')) {
    const every = /^@every(?:\s+(.*))?$/i.exec(rest);
    if (every !== null) {
      return { ...common, kind: 'interval', dayRule: null, periodMs: readEvery(every[1] ?? '') };
    }
  }
  const fields = readFields(rest.startsWith('@') ? macroFields(rest) : rest);
  const bothRestricted = !fields.monthDay.unrestricted && !fields.weekday.unrestricted;
  const expression: CronExpression = {
    ...common,
    kind: 'calendar',
    dayRule: bothRestricted ? 'or' : null,
    wildcardHour: fields.hour.startsWithWildcard,
    monthMask: fields.month.values.reduce((mask, month) => mask | (1 << month), 0),
    dayMasks: buildDayMasks({
      monthDays: { ...fields.monthDay, restricted: !fields.monthDay.unrestricted },
      weekdays: { ...fields.weekday, restricted: !fields.weekday.unrestricted },
    }),
    nextHour: nextTable(fields.hour.values, 24),
    nextMinute: nextTable(fields.minute.values, 60),
    nextSecond: nextTable(fields.second.values, 60),
  };
  refuseNever(expression.monthMask, expression.dayMasks, fields);
  return expression;
}

/** Returns the error with the probable meaning, if that can be parsed. */
function withProposal(error: CarillonError, proposal: Proposal | null): CarillonError {
  if (proposal === null) return error;
  const { cron, note } = proposal;
  const parts = [
    ...(cron !== null && isReadable(cron) ? [`did you mean ${JSON.stringify(cron)}?`] : []),
    ...(note === undefined ? [] : [note]),
  ];
  return parts.length === 0 ? error : new CarillonError('INVALID_CRON', [error.message, ...parts].join('; '));
}

function isReadable(cron: string): boolean {
  try {
    readExpression(cron, { text: cron, timeZone: 'UTC', zone: timeZone('UTC') });
    return cron.startsWith('@') || ambiguity(cron) === null;
  } catch {
    return false;
  }
}

const parsedExpressions = new LRUCache<string, CronExpression>({ max: MAX_CACHED_EXPRESSIONS });

/** Caches the last few thousand results of `parseCron`. Expressions are never changed, so sharing them is safe. */
export function parseCronCached(text: string, options: ParseCronOptions = {}): CronExpression {
  const zoned = options.timeZone === undefined ? text : `${options.timeZone}\0${text}`;
  const key = options.stored === true ? `\0${zoned}` : zoned;
  let expression = parsedExpressions.get(key);
  if (expression === undefined) {
    expression = parseCron(text, options);
    parsedExpressions.set(key, expression);
  }
  return expression;
}

interface GivenZone {
  readonly zoneName: string;
  readonly zone: TimeZone;
  readonly rest: string;
}

function readZone(text: string, { timeZone: beside, stored = false }: ParseCronOptions): GivenZone {
  const nameOf = (written: string): string => (stored ? written : ianaName(written));
  const prefix = /^(?:CRON_TZ|TZ)=(\S*)\s*/.exec(text);
  const besideName = beside === undefined ? null : nameOf(beside);
  const besideZone = besideName === null ? null : timeZone(besideName);
  if (prefix === null) {
    return { zoneName: besideName ?? 'UTC', zone: besideZone ?? timeZone('UTC'), rest: text };
  }
  const zoneName = nameOf(prefix[1] ?? '');
  const zone = timeZone(zoneName);
  if (besideZone !== null && besideZone !== zone) {
    throw new CarillonError(
      'INVALID_CRON',
      `two time zones are given: ${zoneName} in the cron expression and ${besideName ?? ''} beside it; give one`,
    );
  }
  return { zoneName, zone, rest: text.slice(prefix[0].length) };
}

function macroFields(macro: string): string {
  const fields = MACROS.get(macro.toLowerCase());
  if (fields !== undefined) return fields;
  const known = [...MACROS.keys()];
  const near = nearestWithin(macro.slice(0, 40).toLowerCase(), known, 2);
  throw new CarillonError(
    'INVALID_CRON',
    `cron macro ${JSON.stringify(macro.slice(0, 40))} is unknown: expected ${known.join(', ')} or @every <duration>${
      near === null ? '' : `; did you mean ${JSON.stringify(near)}?`
    }`,
  );
}

function readEvery(text: string): number {
  const periodMs = parseDuration(text, 'cron "@every"', {
    goUnits: true,
    minMs: MIN_EVERY_MS,
    maxMs: MAX_EVERY_MS,
    code: 'INVALID_CRON',
  });
  if (periodMs % SECOND_MS === 0) return periodMs;
  throw new CarillonError('INVALID_CRON', `cron "@every": expected whole seconds, got ${JSON.stringify(text)}`);
}

function nextTable(values: readonly number[], size: number): Int8Array {
  const table = new Int8Array(size + 1).fill(-1);
  for (let at = size - 1; at >= 0; at--) table[at] = values.includes(at) ? at : (table[at + 1] ?? -1);
  return table;
}

/**
 * Throws when an expression can never fire. Only February has two lengths; every length occurs with every first
 * weekday, so the masks decide for all years.
 */
const LENGTHS_OF_MONTH = [[], [31], [28, 29], [31], [30], [31], [30], [31], [31], [30], [31], [30], [31]] as const;

function refuseNever(monthMask: number, dayMasks: Int32Array, fields: CronFields): void {
  for (const [month, lengths] of LENGTHS_OF_MONTH.entries()) {
    if (((monthMask >> month) & 1) === 0) continue;
    for (const length of lengths) {
      const first = shapeIndex(length, 0);
      if (dayMasks.subarray(first, first + 7).some((mask) => mask !== 0)) return;
    }
  }
  throw new CarillonError(
    'INVALID_CRON',
    `cron expression can never fire: no month of "${fields.month.text}" has the day "${
      fields.monthDay.unrestricted ? fields.weekday.text : fields.monthDay.text
    }"; correct the day-of-month or month field`,
  );
}
