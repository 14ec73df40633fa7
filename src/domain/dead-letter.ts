// The id of a dead letter in the API: the time of its failure, and its message.

import type { MessageId } from './ids.js';

const DEAD_LETTER_ID = /^\d{1,15}-([0-9a-f]{32})$/;

export function deadLetterId(failedAtMs: number, id: MessageId): string {
  return `${Math.ceil(failedAtMs)}-${id}`;
}

/** Returns the message of a dead letter's id; null when the text is no such id. */
export function messageOfDeadLetter(text: string): MessageId | null {
  return DEAD_LETTER_ID.exec(text)?.[1] ?? null;
}
