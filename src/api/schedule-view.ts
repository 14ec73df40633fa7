// A schedule as clients see it: the fields of the wire contract, then Carillon's own; absent fields are omitted.

import { toWireMessageId } from '../domain/ids.js';
import type { MessageState } from '../domain/message.js';
import { ShownRequest } from '../domain/shown-request.js';
import type { Schedule } from '../domain/schedule.js';
import type { RunStates } from '../postgres/schedules/schedule-reads.js';
import { bytesView, headerText } from './message-view.js';
import type { ScheduleShown } from './schedule-schema.js';

export function scheduleView(schedule: Schedule, runs: RunStates = []): ScheduleShown {
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
    ...(firstLabel !== undefined && { label: firstLabel, labels: schedule.labels }),
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
