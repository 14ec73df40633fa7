// The record of one run, and of its failed attempts.

import type { MessageId } from './ids.js';
import type { HeaderMap, MessageKind, MessageState } from './message.js';

/** One row of the record: an occurrence or a message, and its result. */
export interface Run {
  readonly id: MessageId;
  readonly kind: MessageKind;
  readonly state: MessageState;
  /** Why it was skipped or canceled. */
  readonly reason: string | null;
  readonly isDeadLetter: boolean;
  readonly scheduleId: string | null;
  readonly occurrenceAtMs: number | null;
  /** A skipped run that stands for all occurrences up to this one. */
  readonly coversUntilMs: number | null;
  readonly idempotencyKey: string | null;
  /** The message that a callback reports on, or that a retry from the dead letters repeats. */
  readonly sourceId: MessageId | null;
  readonly dueAtMs: number;
  /** When it was accepted or, for an occurrence, fired. */
  readonly createdAtMs: number;
  /** When its first attempt started; null before that. */
  readonly startedAtMs: number | null;
  /** When it reached its final state; null before that. */
  readonly endedAtMs: number | null;
  readonly nextAttemptAtMs: number;
  readonly attempts: number;
  readonly maxRetries: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly lastHeaders: HeaderMap | null;
  readonly lastBody: Buffer | null;
  readonly node: string | null;
  readonly destination: string;
  readonly method: string;
  readonly labels: readonly string[];
}

/** The result of an attempt, as readers see it. */
export interface AttemptRecord {
  readonly messageId: MessageId;
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly headers: HeaderMap | null;
  readonly body: Buffer | null;
  readonly nextAttemptAtMs: number | null;
  readonly node: string | null;
}
