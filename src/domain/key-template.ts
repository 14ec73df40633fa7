// Idempotency keys that name the occurrence they are for: `invoice:{yyyy-MM}:acme` becomes `invoice:2026-03:acme`.
import { civilFromDay, dayOf, monthOf, weekdayOf, yearOf } from './cron/civil.js';
import type { TimeZone } from './cron/time-zone.js';
import { CarillonError } from './errors.js';

/** Maximum size of the expanded key, in UTF-8. */
export const MAX_KEY_BYTES = 512;

/** The parts of the nominal time that a key may use, by the schedule's wall clock. */
interface WallTime {
  readonly atMs: number;
  readonly dayNumber: number;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly secondOfDay: number;
}

const pad = (value: number, digits = 2): string => String(value).padStart(digits, '0');

/** Each token with the number of characters that it always yields. */
const TOKENS: ReadonlyMap<string, { readonly length: number; readonly write: (time: WallTime) => string }> = new Map([
  ['yyyy', { length: 4, write: (time) => pad(time.year, 4) }],
  ['MM', { length: 2, write: (time) => pad(time.month) }],
  ['dd', { length: 2, write: (time) => pad(time.day) }],
  ['HH', { length: 2, write: (time) => pad(Math.floor(time.secondOfDay / 3600)) }],
  ['mm', { length: 2, write: (time) => pad(Math.floor(time.secondOfDay / 60) % 60) }],
  ['ss', { length: 2, write: (time) => pad(time.secondOfDay % 60) }],
  ['xxxx', { length: 4, write: (time) => pad(isoWeek(time.dayNumber).year, 4) }],
  ['ww', { length: 2, write: (time) => pad(isoWeek(time.dayNumber).week) }],
  ['occurrence', { length: 24, write: (time) => new Date(time.atMs).toISOString() }],
]);

const EXAMPLE = "for example {yyyy-MM-dd}, {xxxx-'W'ww} or {occurrence}";

export interface KeyTemplate {
  readonly text: string;
  /** False for a text without fields: every occurrence then has the same key, so only the first one runs. */
  readonly usesOccurrence: boolean;
  readonly parts: readonly (string | ((time: WallTime) => string))[];
}

/**
 * Parses a key template. Braces contain tokens (yyyy MM dd HH mm ss; xxxx and ww for the ISO week), the separators
 * `-_/:.T` and text in single quotes; `{occurrence}` is the nominal time in UTC, ISO 8601. `{{` and `}}` are braces.
 *
 * Times follow the schedule's wall clock. In an hour that the clock repeats, a wildcard schedule has two occurrences
 * with one local time; `{occurrence}` distinguishes them, `{HH:mm}` does not.
 *
 * @throws CarillonError INVALID_REQUEST naming the part that cannot be parsed, or when a key would be longer than
 * MAX_KEY_BYTES.
 */
export function parseKeyTemplate(text: string, what = 'Carillon-Idempotency-Key'): KeyTemplate {
  const refuse = (why: string): CarillonError => new CarillonError('INVALID_REQUEST', `${what}: ${why}`);
  if (text === '') throw refuse('the key is empty');
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  if (/[\u0000-\u001f\u007f]/.test(text)) throw refuse('the key contains a control character');
  if (/\p{Surrogate}/u.test(text)) throw refuse('the key contains half of a surrogate pair');

  const parts: KeyTemplate['parts'][number][] = [];
  let bytes = 0;
  let usesOccurrence = false;
  for (const [piece] of text.matchAll(/\{\{|\}\}|\{[^{}]*\}?|\}|[^{}]+/g)) {
    if (piece === '{{' || piece === '}}' || !/^[{}]/.test(piece)) {
      const literal = piece === '{{' || piece === '}}' ? piece.charAt(0) : piece;
      bytes += Buffer.byteLength(literal);
      parts.push(literal);
      continue;
    }
    if (piece === '}') throw refuse('a "}" has no "{" before it (write "}}" for a brace)');
    if (!piece.endsWith('}')) throw refuse(`"${piece.slice(0, 40)}" has no closing brace (write "{{" for a brace)`);
    const field = readField(piece.slice(1, -1), refuse);
    parts.push(...field.parts);
    bytes += field.bytes;
    usesOccurrence = true;
  }
  if (bytes > MAX_KEY_BYTES) throw refuse(`the key would have ${bytes} bytes, at most ${MAX_KEY_BYTES} are allowed`);
  return { text, usesOccurrence, parts };
}

function readField(
  field: string,
  refuse: (why: string) => CarillonError,
): { parts: KeyTemplate['parts'][number][]; bytes: number } {
  const parts: KeyTemplate['parts'][number][] = [];
  let bytes = 0;
  let tokens = 0;
  for (const [piece] of field.matchAll(/occurrence|([A-Za-z])\1*|'[^']*'|[\s\S]/gu)) {
    const token = TOKENS.get(piece);
    if (token !== undefined) {
      parts.push(token.write);
      bytes += token.length;
      tokens += 1;
      continue;
    }
    const quoted = piece.length >= 2 && piece.startsWith("'");
    if (!quoted && !/^[-_/:.T]$/.test(piece)) {
      throw refuse(`unknown token "${piece.slice(0, 40)}" in {${field.slice(0, 40)}}, ${EXAMPLE}`);
    }
    const literal = quoted ? piece.slice(1, -1) : piece;
    parts.push(literal);
    bytes += Buffer.byteLength(literal);
  }
  if (tokens === 0) throw refuse(`{${field.slice(0, 40)}} names no part of the time, ${EXAMPLE}`);
  return { parts, bytes };
}

/** Returns the key of the occurrence whose nominal time is `occurrenceMs`, by the wall clock of the schedule's zone. */
export function expandKeyTemplate(template: KeyTemplate, occurrenceMs: number, zone: TimeZone): string {
  const localSecond = Math.floor((occurrenceMs + zone.segmentAt(occurrenceMs).offsetMs) / 1000);
  const dayNumber = Math.floor(localSecond / 86_400);
  const civil = civilFromDay(dayNumber);
  const time: WallTime = {
    atMs: occurrenceMs,
    dayNumber,
    year: yearOf(civil),
    month: monthOf(civil),
    day: dayOf(civil),
    secondOfDay: localSecond - dayNumber * 86_400,
  };
  return template.parts.map((part) => (typeof part === 'string' ? part : part(time))).join('');
}

/** Returns the ISO 8601 week: weeks start on Monday and belong to the year of their Thursday. */
function isoWeek(dayNumber: number): { year: number; week: number } {
  const thursday = dayNumber - ((weekdayOf(dayNumber) + 6) % 7) + 3;
  const year = yearOf(civilFromDay(thursday));
  let week = 0;
  // The week number is the count of that year's Thursdays up to this one.
  for (let day = thursday; yearOf(civilFromDay(day)) === year; day -= 7) week += 1;
  return { year, week };
}
