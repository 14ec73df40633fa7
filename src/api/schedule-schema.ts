// The API's answers about a schedule: the schema of the OpenAPI document, and the type of the API, the CLI and the
// console.

import { type Static, Type } from '@sinclair/typebox';
import { headers, texts } from './wire-values.js';

const optionalText = (description: string) => Type.Optional(Type.String({ description }));
const optionalMs = (description: string) => Type.Optional(Type.Integer({ description }));

export const ScheduleView = Type.Object({
  scheduleId: Type.String(),
  cron: Type.String({ description: 'As given, trimmed' }),
  destination: Type.String(),
  createdAt: Type.Integer({ description: 'Epoch milliseconds' }),
  method: Type.String(),
  header: headers,
  body: optionalText('When it is UTF-8; a hash when redacted'),
  bodyBase64: optionalText('When it is not'),
  retries: Type.Integer(),
  delay: Type.Optional(Type.Number({ description: 'Seconds' })),
  timeout: Type.Integer({ description: 'Milliseconds' }),
  retryDelayExpression: optionalText(''),
  callback: optionalText(''),
  failureCallback: optionalText(''),
  isPaused: Type.Boolean(),
  callerIP: optionalText(''),
  label: optionalText('The first of the labels'),
  labels: Type.Optional(texts),
  lastScheduleTime: optionalMs('Nominal time of the last occurrence, epoch milliseconds'),
  nextScheduleTime: optionalMs('Nominal time of the next occurrence, epoch milliseconds'),
  lastScheduleStates: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Union([Type.Literal('IN_PROGRESS'), Type.Literal('SUCCESS'), Type.Literal('FAIL')]),
      { description: 'By message id: the latest few' },
    ),
  ),
  state: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('ended')]),
  error: optionalText('Why it cannot be fired; it is retried until it is changed'),
  generation: Type.Integer({ description: 'Rises with every edit' }),
  timeZone: optionalText('From Carillon-Time-Zone'),
  misfire: Type.Union([Type.Literal('skip'), Type.Literal('once'), Type.Literal('all')]),
  misfireWindow: optionalMs('For misfire "all", milliseconds'),
  overlap: Type.Union([Type.Literal('allow'), Type.Literal('skip'), Type.Literal('queue')]),
  window: optionalMs('Spread window, milliseconds'),
  start: optionalMs('Epoch milliseconds'),
  end: optionalMs('Epoch milliseconds'),
  idempotencyKey: optionalText('Template of the keys of its occurrences'),
  redact: optionalText('What is shown as a hash in place of itself: body, header, header[Name]'),
});

export type ScheduleShown = Static<typeof ScheduleView>;
