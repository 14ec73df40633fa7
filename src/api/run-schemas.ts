// The answers of the routes of the record: the schemas of the OpenAPI document, and the types of the API, the CLI and
// the console.

import { type Static, Type } from '@sinclair/typebox';
import { headers, oneOf, texts } from './wire-values.js';

const answerObject = Type.Object({
  headers: Type.Optional(headers),
  body: Type.Optional(Type.String({ description: 'The first bytes of the answer.' })),
  bodyBase64: Type.Optional(Type.String()),
});

export const runObject = Type.Object(
  {
    messageId: Type.String(),
    kind: oneOf(['message', 'occurrence', 'manual', 'callback', 'failure-callback', 'dlq-retry']),
    state: oneOf(['pending', 'delivered', 'failed', 'canceled', 'skipped']),
    reason: Type.Optional(Type.String({ description: 'Why it was skipped or canceled.' })),
    scheduleId: Type.Optional(Type.String()),
    occurrence: Type.Optional(Type.String({ description: 'Nominal time, ISO 8601 UTC, as all times here.' })),
    coversUntil: Type.Optional(
      Type.String({ description: 'A skipped run stands for all occurrences up to this one.' }),
    ),
    key: Type.Optional(Type.String({ description: 'Idempotency key.' })),
    labels: Type.Optional(texts),
    dueAt: Type.String(),
    createdAt: Type.String(),
    startedAt: Type.Optional(Type.String({ description: 'When the first attempt began.' })),
    endedAt: Type.Optional(Type.String({ description: 'When the final state was reached.' })),
    latenessMs: Type.Optional(Type.Integer({ description: 'startedAt minus dueAt.' })),
    nextAttemptAt: Type.Optional(Type.String({ description: 'While pending.' })),
    attempts: Type.Integer(),
    maxRetries: Type.Integer(),
    status: Type.Optional(Type.Integer({ description: 'HTTP status of the last answer.' })),
    error: Type.Optional(Type.String({ description: 'Of the last attempt, when it failed.' })),
    response: Type.Optional(answerObject),
    destination: Type.String(),
    method: Type.String(),
    node: Type.Optional(Type.String({ description: 'The node that made the last attempt.' })),
    dlqId: Type.Optional(Type.String({ description: 'While it is listed as a dead letter.' })),
    sourceMessageId: Type.Optional(Type.String({ description: 'What a callback reports on, or a retry repeats.' })),
  },
  { additionalProperties: false },
);

const requestObject = Type.Object(
  { headers, body: Type.Optional(Type.String()), bodyBase64: Type.Optional(Type.String()) },
  { description: 'headers and body as sent, redacted' },
);

const failedAttemptObject = Type.Object({
  attempt: Type.Integer({ description: 'From 1.' }),
  startedAt: Type.String(),
  endedAt: Type.String(),
  status: Type.Optional(Type.Integer()),
  error: Type.Optional(Type.String()),
  response: Type.Optional(answerObject),
  nextAttemptAt: Type.Optional(Type.String({ description: 'Absent for the last attempt.' })),
  node: Type.Optional(Type.String()),
});

export const runDetail = Type.Composite([
  runObject,
  Type.Object({
    request: requestObject,
    timeoutMs: Type.Integer(),
    callback: Type.Optional(Type.String()),
    failureCallback: Type.Optional(Type.String()),
    redact: Type.Optional(Type.String({ description: 'What is shown as a hash in place of itself' })),
    failedAttempts: Type.Array(failedAttemptObject),
  }),
]);

export const runPage = Type.Object({ runs: Type.Array(runObject), cursor: Type.Optional(Type.String()) });

export const runCounts = Type.Object({
  pending: Type.Integer(),
  delivered: Type.Integer(),
  failed: Type.Integer(),
  canceled: Type.Integer(),
  skipped: Type.Integer(),
});

export type AnswerShown = Static<typeof answerObject>;
export type RunShown = Static<typeof runObject>;
export type FailedAttemptShown = Static<typeof failedAttemptObject>;
export type RunDetailShown = Static<typeof runDetail>;
export type RunPageShown = Static<typeof runPage>;
export type RunCountsShown = Static<typeof runCounts>;
