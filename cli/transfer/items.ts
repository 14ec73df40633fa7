/** What an import sends: items of the API's batches, and the faults of single lines. */
import { createHash } from 'node:crypto';

export type Headers = Record<string, string | string[] | number | boolean | null>;

/** An item of POST /v2/batch or, with an Upstash-Cron among its headers, of POST /v2/schedules/batch. */
export interface Item {
  readonly destination: string;
  readonly headers: Headers;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly paused?: boolean;
}

/** A line that makes no item; the import goes on with the next one. */
export class LineError extends Error {}

/** Reads one line after the other; null for a line that stands for nothing. May keep what earlier lines said. Throws LineFault. */
export type LineReader = (text: string, line: number) => Item | null;

/** The value of a header, whatever the case of its name. */
function headerOf({ headers }: Item, name: string): unknown {
  const key = Object.keys(headers).find((known) => known.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : headers[key];
}

export function isSchedule(item: Item): boolean {
  return headerOf(item, 'Upstash-Cron') !== undefined;
}

/**
 * The item with something to know it by, made of its line's number and text, unless it has that already: so that an import that is
 * repeated, from wherever, creates nothing twice.
 */
export function identified(item: Item, text: string, line: number): Item {
  const name = isSchedule(item) ? 'Upstash-Schedule-Id' : 'Carillon-Idempotency-Key';
  if (headerOf(item, name) !== undefined) return item;
  const hash = hashOf(`${line}\n${text}`);
  return { ...item, headers: { ...item.headers, [name]: isSchedule(item) ? `imp_${hash}` : `import:${line}:${hash}` } };
}

/** 20 hexadecimal digits. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}

/** Puts values into the `{name}` places of a URL, percent-encoded. Throws LineFault for a place that nothing is known of. */
export function fillTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (place, name: string) => {
    const value = values[name];
    if (value !== undefined) return encodeURIComponent(value);
    const known = Object.keys(values).map((key) => `{${key}}`);
    throw new LineError(`--destination-template has ${place}, expected ${known.join(' or ')}`);
  });
}

/** Headers without those that are not there. */
export function present(headers: Readonly<Record<string, unknown>>): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  ) as Headers;
}

/** A shorter text has no room for more levels than can be written again. */
const PERHAPS_DEEP_LENGTH = 4_096;

/** A JSON object, or a LineFault. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
    // What can be read can be nested too deeply to be written.
    if (text.length > PERHAPS_DEEP_LENGTH) JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) throw new LineError('this is JSON that is nested too deeply');
    throw new LineError(`this is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new LineError('this is JSON but no object, expected one object on each line');
}
