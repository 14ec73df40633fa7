// Parses and formats durations as clients send them: `10s`, `1d10h30m`, `1.5s`, a bare number of seconds, and Go's
// `6m5.5s`.
import { CarillonError, type ErrorCode } from './errors.js';

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Durations are short; a longer text is a mistake and is not scanned. */
const MAX_DURATION_LENGTH = 64;
/** Beyond this (about 3,000 years) a sum of milliseconds is meaningless. */
const MAX_DURATION_MS = 1e14;

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', SECOND_MS],
]);

const GO_UNIT_MS: ReadonlyMap<string, number> = new Map([
  ...UNIT_MS,
  ['ms', 1],
  ['us', 1e-3],
  ['µs', 1e-3], // U+00B5, the micro sign
  ['μs', 1e-3], // U+03BC, the Greek letter
  ['ns', 1e-6],
]);

export interface DurationOptions {
  /** Accepts a number without a unit as seconds. Default: a unit is required. */
  readonly bareSeconds?: boolean;
  /** Also accepts `ms`, `us` and `ns`, as Go prints durations. */
  readonly goUnits?: boolean;
  readonly minMs?: number;
  readonly maxMs?: number;
  /** The code of the error. Default INVALID_REQUEST. */
  readonly code?: ErrorCode;
}

/**
 * Parses a duration, rounded to whole milliseconds.
 *
 * @param what names the header or field in the error text, e.g. `Upstash-Delay`.
 *
 * @throws CarillonError when the text is no duration or is outside `minMs`..`maxMs`.
 */
export function parseDuration(text: string, what: string, options: DurationOptions = {}): number {
  const units = options.goUnits === true ? GO_UNIT_MS : UNIT_MS;
  const code = options.code ?? 'INVALID_REQUEST';
  const refuse = (why: string): CarillonError =>
    new CarillonError(code, `${what}: ${why}, got ${JSON.stringify(text.slice(0, MAX_DURATION_LENGTH))}`);
  const example = `expected a duration such as 10s, 5m or 1d10h30m${options.bareSeconds === true ? ', or a number of seconds' : ''}`;

  const trimmed = text.trim();
  if (trimmed.length > MAX_DURATION_LENGTH) throw refuse(`a duration has at most ${MAX_DURATION_LENGTH} characters`);
  if (trimmed.startsWith('-')) throw refuse('a duration cannot be negative');

  let totalMs = 0;
  if (/^\d+(?:\.\d+)?$/.test(trimmed)) {
    if (options.bareSeconds !== true && Number(trimmed) !== 0) {
      throw refuse(`a unit is missing (one of ${[...UNIT_MS.keys()].join(', ')})`);
    }
    totalMs = Number(trimmed) * SECOND_MS;
  } else {
    if (!/^(?:\d+(?:\.\d+)?[a-zµμ]+)+$/.test(trimmed)) throw refuse(example);
    for (const [, amount = '', unit = ''] of trimmed.matchAll(/(\d+(?:\.\d+)?)([a-zµμ]+)/g)) {
      const unitMs = units.get(unit);
      if (unitMs === undefined) throw refuse(`unknown unit "${unit}", ${example}`);
      totalMs += Number(amount) * unitMs;
    }
  }

  const roundedMs = Math.round(totalMs);
  if (roundedMs > MAX_DURATION_MS) throw refuse('the duration is too long');
  if (options.minMs !== undefined && roundedMs < options.minMs) {
    throw refuse(`must be at least ${formatDuration(options.minMs)}`);
  }
  if (options.maxMs !== undefined && roundedMs > options.maxMs) {
    throw refuse(`must be at most ${formatDuration(options.maxMs)}`);
  }
  return roundedMs;
}

/** Formats whole milliseconds in the form that `parseDuration` reads without options: `1d10h30m`, `1.5s`, `0s`. */
export function formatDuration(durationMs: number): string {
  let restMs = Math.round(durationMs);
  let text = '';
  for (const [unit, unitMs] of [
    ['d', DAY_MS],
    ['h', HOUR_MS],
    ['m', MINUTE_MS],
  ] as const) {
    const count = Math.floor(restMs / unitMs);
    if (count > 0) text += `${count}${unit}`;
    restMs -= count * unitMs;
  }
  if (restMs > 0 || text === '') text += `${restMs / SECOND_MS}s`;
  return text;
}
