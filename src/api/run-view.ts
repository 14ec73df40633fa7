// Views of the record: times in ISO 8601 UTC, absent fields omitted and never null.

import { deadLetterId } from '../domain/dead-letter.js';
import { toWireMessageId } from '../domain/ids.js';
import type { HeaderMap } from '../domain/message.js';
import type { AttemptRecord, Run } from '../domain/run.js';
import type { MessageRecord } from '../postgres/messages/message-reads.js';
import type { AnswerShown, FailedAttemptShown, RunDetailShown, RunShown } from './run-schemas.js';
import { answerHeaders, bytesView, headerText, present } from './message-view.js';

/** Returns one row of the record. */
export function runView(run: Run): RunShown {
  return present({
    messageId: toWireMessageId(run.id),
    kind: run.kind,
    state: run.state,
    reason: run.reason,
    scheduleId: run.scheduleId,
    occurrence: iso(run.occurrenceAtMs),
    coversUntil: iso(run.coversUntilMs),
    key: run.idempotencyKey,
    labels: run.labels.length === 0 ? null : run.labels,
    dueAt: iso(run.dueAtMs),
    createdAt: iso(run.createdAtMs),
    startedAt: iso(run.startedAtMs),
    endedAt: iso(run.endedAtMs),
    latenessMs: run.startedAtMs === null ? null : run.startedAtMs - run.dueAtMs,
    nextAttemptAt: run.state === 'pending' ? iso(run.nextAttemptAtMs) : null,
    attempts: run.attempts,
    maxRetries: run.maxRetries,
    status: run.lastStatus,
    error: run.lastError,
    response: answerOf(run.lastHeaders, run.lastBody),
    destination: run.destination,
    method: run.method,
    node: run.node,
    dlqId: run.isDeadLetter && run.endedAtMs !== null ? deadLetterId(run.endedAtMs, run.id) : null,
    sourceMessageId: run.sourceId === null ? null : toWireMessageId(run.sourceId),
  });
}

/** Returns one row of the record with all details: the request, and each failed attempt. */
export function runDetailView(run: Run, message: MessageRecord, attempts: readonly AttemptRecord[]): RunDetailShown {
  const { shown } = message;
  return {
    ...runView(run),
    request: present({ headers: headerText(shown.headers), ...bytesView('body', shown.body) }),
    timeoutMs: message.timeoutMs,
    ...present({
      callback: shown.callback?.url,
      failureCallback: shown.failureCallback?.url,
      redact: message.options.redact,
    }),
    failedAttempts: attempts.map(attemptView),
  };
}

function attemptView(attempt: AttemptRecord): FailedAttemptShown {
  return present({
    attempt: attempt.attempt,
    startedAt: iso(attempt.startedAtMs),
    endedAt: iso(attempt.endedAtMs),
    status: attempt.status,
    error: attempt.error,
    response: answerOf(attempt.headers, attempt.body),
    nextAttemptAt: iso(attempt.nextAttemptAtMs),
    node: attempt.node,
  });
}

/** Returns the first bytes of the answer; null when there was none. */
function answerOf(headers: HeaderMap | null, body: Buffer | null): AnswerShown | null {
  if (headers === null && body === null) return null;
  return present({ headers: headers === null ? null : answerHeaders(headers), ...bytesView('body', body) });
}

function iso(timeMs: number): string;
function iso(timeMs: number | null): string | null;
function iso(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(timeMs).toISOString();
}
