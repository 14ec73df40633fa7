// Whether a message is to be sent: by its row, which is read again where what is known of it is old, since a cancel relies on having been
// seen (domain/cancel-times.ts).

import type { Message } from '../domain/message.js';
import type { StoredMessage } from '../postgres/messages/message-columns.js';
import type { ActorParts } from './actor-parts.js';

/** So often in a row is a row read again: reads that take as long as that are repeated, but not for ever, since PostgreSQL may be that slow. */
const RECHECKS = 3;

/** What an entry came with, if it is trusted, and when Redis or PostgreSQL was asked for what the message is, by the process's time. */
export interface Known {
  readonly knownAtMs: number;
  readonly payload: string;
}

export function isToBeSent(stored: StoredMessage): boolean {
  return stored.state === 'pending' && !stored.held;
}

type Parts = Pick<ActorParts, 'recorder' | 'settings' | 'time'>;

/** Asked just before attempt number `attempt`. What is known of most is fresh: then there is nothing to wait for. */
export function isStillToBeSent(
  parts: Parts,
  message: Message,
  attempt: number,
  knownAtMs: number,
): true | Promise<boolean> {
  const isFresh = parts.time.monotonicMs() - knownAtMs <= parts.settings.recheckAfterMs;
  return isFresh ? true : readAgain(parts, message, attempt, knownAtMs);
}

async function readAgain(
  { recorder, settings, time }: Parts,
  { id }: Message,
  attempt: number,
  knownAtMs: number,
): Promise<boolean> {
  for (let reads = 0; reads < RECHECKS && time.monotonicMs() - knownAtMs > settings.recheckAfterMs; reads++) {
    knownAtMs = time.monotonicMs();
    const stored = await recorder.readMessage(id);
    if (stored === null || !isToBeSent(stored) || stored.attempts >= attempt) return false;
  }
  return true;
}
