// Cursors of lists: opaque to clients, a place in the list for us.

import { CarillonError } from '../domain/errors.js';

/** The lists that have cursors; one list's cursor is refused by the others. */
export type CursorKind = 'dlq' | 'events' | 'events-earliest' | 'runs' | 'schedules' | 'pending';

const CURSOR_MAX_LENGTH = 400;

/** A cursor that holds a place. The parts must not contain a blank. */
export function writeCursor(kind: CursorKind, parts: readonly (string | number)[]): string {
  return Buffer.from([kind, ...parts].join(' ')).toString('base64url');
}

/** The parts of a cursor of this list, which `shape` must match when they are joined by blanks. Throws INVALID_REQUEST. */
export function readCursor(kind: CursorKind, text: string, shape: RegExp): string[] {
  if (text.length <= CURSOR_MAX_LENGTH && /^[A-Za-z0-9_-]+$/.test(text)) {
    const [found, ...parts] = Buffer.from(text, 'base64url').toString('latin1').split(' ');
    if (found === kind && shape.test(parts.join(' '))) return parts;
  }
  throw new CarillonError(
    'INVALID_REQUEST',
    `cursor is ${JSON.stringify(text.slice(0, 40))}, expected the cursor of an earlier answer of this list (with the same order)`,
  );
}
