// Decides whether a message is still to be sent. When the knowledge of it is old, its row is read again, because a
// cancel relies on being seen within a bounded time (domain/cancel-times.ts).

import type { Message } from '../domain/message.js';
import type { StoredMessage } from '../postgres/messages/message-columns.js';
import type { ActorParts } from './actor-parts.js';

/**
 * Most reads of a row in succession. A read that takes longer than the bound is repeated, but not for ever, since
 * PostgreSQL may stay that slow.
 */
const RECHECKS = 3;

/**
 * The payload of an entry, if it is fresh, and when Redis or PostgreSQL was asked for the message, by the process's
 * clock.
 */
export interface Known {
  readonly knownAtMs: number;
  readonly payload: string;
}

export function isToBeSent(stored: StoredMessage): boolean {
  return stored.state === 'pending' && !stored.held;
}

type Parts = Pick<ActorParts, 'recorder' | 'settings' | 'time'>;

/**
 * Returns whether attempt number `attempt` is still to be made; called just before it. What is known of most messages
 * is fresh, so that there is nothing to wait for.
 */
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
