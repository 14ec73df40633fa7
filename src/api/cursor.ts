// Cursors of lists: opaque to clients, a position in the list for us. They are neither secret nor signed, since they
// grant nothing: an invented cursor shows the caller's own list from another position. But each part is checked before
// it is used.

import { CarillonError } from '../domain/errors.js';
import { MAX_AT_MS } from './instant.js';

type Check = (part: string) => boolean;

const isWholeUpTo =
  (max: number): Check =>
  (part) =>
    /^\d{1,15}$/.test(part) && Number(part) <= max;
const isInstant = isWholeUpTo(MAX_AT_MS);
const isMessageId: Check = (part) => /^[0-9a-f]{32}$/.test(part);
/** A position without a message (where a page ended between events) has a dash. */
const isMessageIdOrDash: Check = (part) => part === '-' || isMessageId(part);
const isScheduleId: Check = (part) => /^[A-Za-z0-9_.-]{1,256}$/.test(part);

/** Beyond the last position in a message's life, see events.ts. */
const EVENT_PLACE_MAX = 2 ** 30;
/** The largest number of shards in a cluster. */
const SHARD_MAX = 4_095;

/** The lists with cursors, and the parts of their positions. A list refuses the cursors of other lists. */
const POSITIONS = {
  dlq: [isInstant, isMessageId],
  events: [isInstant, isMessageIdOrDash, isWholeUpTo(EVENT_PLACE_MAX)],
  'events-earliest': [isInstant, isMessageIdOrDash, isWholeUpTo(EVENT_PLACE_MAX)],
  runs: [isMessageId],
  schedules: [isScheduleId],
  pending: [isWholeUpTo(SHARD_MAX), isMessageId],
} as const satisfies Record<string, readonly Check[]>;

export type CursorKind = keyof typeof POSITIONS;
/** The parts of a position, as texts; as many as the kind has. */
type Parts<Kind extends CursorKind> = Texts<(typeof POSITIONS)[Kind]>;
type Texts<Tuple extends readonly unknown[]> = { -readonly [Part in keyof Tuple]: string };

const CURSOR_MAX_LENGTH = 400;

/** Returns the cursor of a position. The parts must not contain a blank. */
export function writeCursor(kind: CursorKind, parts: readonly (string | number)[]): string {
  return Buffer.from([kind, ...parts].join(' ')).toString('base64url');
}

/** Returns the parts of a cursor of this list, each within its bounds. Throws INVALID_REQUEST. */
export function readCursor<Kind extends CursorKind>(kind: Kind, text: string): Parts<Kind> {
  const checks: readonly Check[] = POSITIONS[kind];
  if (text.length <= CURSOR_MAX_LENGTH && /^[A-Za-z0-9_-]+$/.test(text)) {
    const [found, ...parts] = Buffer.from(text, 'base64url').toString('latin1').split(' ');
    const isOne =
      found === kind && parts.length === checks.length && checks.every((check, at) => check(parts[at] ?? ''));
    if (isOne) return parts as unknown as Parts<Kind>;
  }
  throw noCursor(text);
}

/**
 * Returns a time in milliseconds, which older clients send as a cursor of events; null for any other text. Throws
 * INVALID_REQUEST.
 */
export function readTimeCursor(text: string): number | null {
  if (!/^\d{12,15}$/.test(text)) return null;
  if (isInstant(text)) return Number(text);
  throw noCursor(text);
}

function noCursor(text: string): CarillonError {
  return new CarillonError(
    'INVALID_REQUEST',
    `cursor is ${JSON.stringify(text.slice(0, 40))}, expected the cursor of an earlier answer of this list (with the same order)`,
  );
}
