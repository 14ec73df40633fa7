// A schedule as clients see it: the fields of the wire contract, then Carillon's own; absent fields are omitted.

import { Type, type Static } from '@sinclair/typebox';
import { toWireMessageId } from '../domain/ids.js';
import type { HeaderMap, MessageState } from '../domain/message.js';
import { ShownRequest } from '../domain/shown-request.js';
import type { Schedule } from '../domain/schedule.js';
import type { RunStates } from '../postgres/schedules/schedule-reads.js';
import { bytesView, headerText } from './message-view.js';

const optionalText = (description: string) => Type.Optional(Type.String({ description }));
const optionalMs = (description: string) => Type.Optional(Type.Integer({ description }));
const Headers = Type.Record(Type.String(), Type.Array(Type.String()));

export const ScheduleView = Type.Object({
  scheduleId: Type.String(),
  cron: Type.String({ description: 'As given, trimmed' }),
  destination: Type.String(),
  createdAt: Type.Integer({ description: 'Epoch milliseconds' }),
  method: Type.String(),
  header: Type.Unsafe<HeaderMap>(Headers),
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
  labels: Type.Optional(Type.Array(Type.String())),
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
  error: optionalText('Why it cannot be fired; it is tried again until it is changed'),
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

export function scheduleView(schedule: Schedule, runs: RunStates = []): Static<typeof ScheduleView> {
  const shown = ShownRequest.of(schedule);
  const [firstLabel] = schedule.labels;
  return {
    scheduleId: schedule.id,
    cron: schedule.cron,
    destination: schedule.destination,
    createdAt: schedule.createdAtMs,
    method: schedule.method,
    header: headerText(shown.headers),
    ...bytesView('body', shown.body),
    retries: schedule.maxRetries,
    ...(schedule.delayMs > 0 && { delay: schedule.delayMs / 1_000 }),
    timeout: schedule.timeoutMs,
    ...(schedule.retryDelay !== null && { retryDelayExpression: schedule.retryDelay }),
    ...(shown.callback !== null && { callback: shown.callback.url }),
    ...(shown.failureCallback !== null && { failureCallback: shown.failureCallback.url }),
    isPaused: schedule.state === 'paused',
    ...(schedule.callerIp !== null && { callerIP: schedule.callerIp }),
    ...(firstLabel !== undefined && { label: firstLabel, labels: [...schedule.labels] }),
    ...(schedule.lastFireAtMs !== null && { lastScheduleTime: schedule.lastFireAtMs }),
    ...(schedule.nextFireAtMs !== null && { nextScheduleTime: schedule.nextFireAtMs }),
    ...(runs.length > 0 && { lastScheduleStates: runStates(runs) }),
    state: schedule.state,
    ...(schedule.error != null && { error: schedule.error }),
    generation: schedule.generation,
    ...(schedule.timeZone !== null && { timeZone: schedule.timeZone }),
    misfire: schedule.misfire,
    ...(schedule.misfire === 'all' && { misfireWindow: schedule.misfireWindowMs }),
    overlap: schedule.overlap,
    ...(schedule.windowMs > 0 && { window: schedule.windowMs }),
    ...(schedule.startAtMs !== null && { start: schedule.startAtMs }),
    ...(schedule.endAtMs !== null && { end: schedule.endAtMs }),
    ...(schedule.keyTemplate !== null && { idempotencyKey: schedule.keyTemplate }),
    ...(schedule.redact !== null && { redact: schedule.redact }),
  };
}

const RUN_STATE: Readonly<Record<Exclude<MessageState, 'skipped'>, 'IN_PROGRESS' | 'SUCCESS' | 'FAIL'>> = {
  pending: 'IN_PROGRESS',
  delivered: 'SUCCESS',
  failed: 'FAIL',
  canceled: 'FAIL',
};

function runStates(runs: RunStates): Record<string, 'IN_PROGRESS' | 'SUCCESS' | 'FAIL'> {
  return Object.fromEntries(
    runs.flatMap(({ id, state }) => (state === 'skipped' ? [] : [[toWireMessageId(id), RUN_STATE[state]] as const])),
  );
}
