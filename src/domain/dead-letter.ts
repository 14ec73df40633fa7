// The id by which clients name a dead letter: when it failed, and which message it is.

import type { MessageId } from './ids.js';

const DEAD_LETTER_ID = /^\d{1,15}-([0-9a-f]{32})$/;

export function deadLetterId(failedAtMs: number, id: MessageId): string {
  return `${Math.ceil(failedAtMs)}-${id}`;
}

/** The message of a dead letter's id; null when it cannot be one. */
export function messageOfDeadLetter(text: string): MessageId | null {
  return DEAD_LETTER_ID.exec(text)?.[1] ?? null;
}
