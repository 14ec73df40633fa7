/** Times as people read them: UTC with its Z, or this machine's zone with its offset. */
import { readIsoInstant } from '../src/domain/instant.js';
import { usageError } from './io.js';

export type Zone = 'utc' | 'local';

/** A time for a table: whole seconds. Nothing for what is not there. */
export function time(at: string | number | undefined, zone: Zone): string {
  return at === undefined ? '' : written(new Date(at), zone, false);
}

/** A time for a single record: with its milliseconds. */
export function exactTime(at: string | number | undefined, zone: Zone): string | undefined {
  return at === undefined ? undefined : written(new Date(at), zone, true);
}

/** How long something took, in its two largest units. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * A time on the command line, in epoch milliseconds. Its offset must be given, since nobody could tell whose wall clock is
 * meant. Throws a usage fault.
 */
export function readTime(text: string, what: string): number {
  const read = readIsoInstant(text);
  if ('atMs' in read) return read.atMs;
  throw usageError(
    `${what} is ${JSON.stringify(text.slice(0, 60))}, expected a time with Z or its offset, such as ` +
      `2026-03-08T07:00:00Z or 2026-03-08T03:00:00-04:00${read.why === '' ? '' : `; ${read.why}`}`,
  );
}

function written(date: Date, zone: Zone, exact: boolean): string {
  if (Number.isNaN(date.getTime())) return '';
  const shifted = zone === 'utc' ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  const iso = shifted.toISOString();
  const end = exact && !iso.endsWith('.000Z') ? -1 : -5;
  return iso.slice(0, end) + (zone === 'utc' ? 'Z' : offset(-date.getTimezoneOffset()));
}

function offset(minutes: number): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
