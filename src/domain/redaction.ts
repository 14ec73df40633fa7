// Applies Upstash-Redact-Fields: bodies and headers that are shown as a hash to everybody but the receiver, who gets
// them unchanged.
import { createHash } from 'node:crypto';
import { CarillonError } from './errors.js';

export interface Redaction {
  readonly body: boolean;
  readonly allHeaders: boolean;
  /** Single header names, lower case. */
  readonly headers: readonly string[];
}

export const NO_REDACTION: Redaction = { body: false, allHeaders: false, headers: [] };

const MAX_FIELDS = 100;
/** A header may have the name that the request uses to set it. */
const SETTING_PREFIX = /^upstash-(?:(?:failure-)?callback-)?forward-(?=.)/;
const HEADER_FIELD = /^headers?\[\s*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256})\s*\]$/i;

/**
 * Parses the header: a comma-separated list of `body`, `header` (or `headers`) and `header[Name]`.
 *
 * @throws CarillonError INVALID_REQUEST for anything else: a mistyped field would silently show data that must be
 * hidden.
 */
export function parseRedaction(text: string): Redaction {
  let body = false;
  let allHeaders = false;
  const headers = new Set<string>();
  const fields = text.split(',').map((field) => field.trim());
  if (fields.length > MAX_FIELDS) {
    throw new CarillonError(
      'INVALID_REQUEST',
      `Upstash-Redact-Fields: ${fields.length} fields, at most ${MAX_FIELDS} are allowed`,
    );
  }
  for (const field of fields) {
    const named = HEADER_FIELD.exec(field)?.[1];
    if (named !== undefined) addName(headers, named.toLowerCase());
    else if (/^body$/i.test(field)) body = true;
    else if (/^headers?$/i.test(field)) allHeaders = true;
    else if (field !== '') {
      throw new CarillonError(
        'INVALID_REQUEST',
        `Upstash-Redact-Fields: unknown field "${field.slice(0, 100)}", expected body, header or header[Name]`,
      );
    }
  }
  return { body, allHeaders, headers: [...headers] };
}

function addName(names: Set<string>, name: string): void {
  names.add(name).add(name.replace(SETTING_PREFIX, ''));
}

/**
 * Returns the fields that hide what either argument hides; null when neither hides anything.
 *
 * @throws CarillonError INVALID_REQUEST when they are too many.
 */
export function mergeRedactFields(stored: string | null, added: string | null): string | null {
  if (stored === null || added === null) return stored ?? added;
  const fields = new Set([stored, added].flatMap((text) => text.split(',').map((field) => field.trim())));
  fields.delete('');
  const merged = [...fields].join(',');
  parseRedaction(merged);
  return merged;
}

/** Returns the text to show instead of a body, or null when it may be shown. */
export function redactBody(redaction: Redaction, body: Uint8Array): string | null {
  return redaction.body ? redacted(body) : null;
}

/**
 * Returns a copy of the headers with redacted values; the same object when nothing is redacted. Compares names without
 * case.
 */
export function redactHeaders(
  redaction: Redaction,
  headers: Readonly<Record<string, readonly string[]>>,
): Readonly<Record<string, readonly string[]>> {
  if (!redaction.allHeaders && redaction.headers.length === 0) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => {
      const hidden = redaction.allHeaders || redaction.headers.includes(name.toLowerCase());
      // Header values are byte strings: one character for each byte.
      return [name, hidden ? values.map((value) => redacted(Buffer.from(value, 'latin1'))) : values];
    }),
  );
}

function redacted(bytes: Uint8Array): string {
  return `REDACTED:${createHash('sha256').update(bytes).digest('hex')}`;
}
