// Cursors of lists: opaque to clients, a place in the list for us. They are not secret and not signed, since they grant
// nothing: whoever makes one up sees no more than his own list from another place. But each part is checked before
// anything is done with it.

import { CarillonError } from '../domain/errors.js';
import { MAX_AT_MS } from './instant.js';

type Check = (part: string) => boolean;

const isWholeUpTo =
  (max: number): Check =>
  (part) =>
    /^\d{1,15}$/.test(part) && Number(part) <= max;
const isInstant = isWholeUpTo(MAX_AT_MS);
const isMessageId: Check = (part) => /^[0-9a-f]{32}$/.test(part);
/** A place without a message (where a page ended between events) is written with a dash. */
const isMessageIdOrDash: Check = (part) => part === '-' || isMessageId(part);
const isScheduleId: Check = (part) => /^[A-Za-z0-9_.-]{1,256}$/.test(part);

/** Beyond the last place in a message's life, see events.ts. */
const EVENT_PLACE_MAX = 2 ** 30;
/** As many as a cluster may have. */
const SHARD_MAX = 4_095;

/** The lists that have cursors, with what their places are made of. One list's cursor is refused by the others. */
const PLACES = {
  dlq: [isInstant, isMessageId],
  events: [isInstant, isMessageIdOrDash, isWholeUpTo(EVENT_PLACE_MAX)],
  'events-earliest': [isInstant, isMessageIdOrDash, isWholeUpTo(EVENT_PLACE_MAX)],
  runs: [isMessageId],
  schedules: [isScheduleId],
  pending: [isWholeUpTo(SHARD_MAX), isMessageId],
} as const satisfies Record<string, readonly Check[]>;

export type CursorKind = keyof typeof PLACES;
/** The parts of a place, as texts; as many as the kind has. */
type Parts<Kind extends CursorKind> = Texts<(typeof PLACES)[Kind]>;
type Texts<Tuple extends readonly unknown[]> = { -readonly [Part in keyof Tuple]: string };

const CURSOR_MAX_LENGTH = 400;

/** A cursor that holds a place. The parts must not contain a blank. */
export function writeCursor(kind: CursorKind, parts: readonly (string | number)[]): string {
  return Buffer.from([kind, ...parts].join(' ')).toString('base64url');
}

/** The parts of a cursor of this list, each within its bounds. Throws INVALID_REQUEST. */
export function readCursor<Kind extends CursorKind>(kind: Kind, text: string): Parts<Kind> {
  const checks: readonly Check[] = PLACES[kind];
  if (text.length <= CURSOR_MAX_LENGTH && /^[A-Za-z0-9_-]+$/.test(text)) {
    const [found, ...parts] = Buffer.from(text, 'base64url').toString('latin1').split(' ');
    const isOne =
      found === kind && parts.length === checks.length && checks.every((check, at) => check(parts[at] ?? ''));
    if (isOne) return parts as unknown as Parts<Kind>;
  }
  throw noCursor(text);
}

/**
 * A time in milliseconds, which older clients give as a cursor of events; null for what does not look like one.
 * Throws INVALID_REQUEST.
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
