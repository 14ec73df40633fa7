// Exports schedules and messages as batch items that create them again: the reverse of the *-headers.ts.

import { isUtf8 } from 'node:buffer';
import { Type, type Static } from '@sinclair/typebox';
import { formatDuration } from '../domain/duration.js';
import { toWireMessageId } from '../domain/ids.js';
import type { CallbackSpec, DeliveryPolicy, HeaderMap, Request } from '../domain/message.js';
import type { Schedule } from '../domain/schedule.js';
import { fromDeliveryOptions } from '../postgres/messages/delivery-options.js';
import type { PendingMessage } from '../postgres/messages/pending-pages.js';
import { decodeHeaderText } from './header-text.js';

export const ExportItem = Type.Object({
  destination: Type.String(),
  headers: Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())])),
  body: Type.Optional(Type.String()),
  bodyBase64: Type.Optional(Type.String()),
  paused: Type.Optional(Type.Literal(true)),
});
export type ExportItem = Static<typeof ExportItem>;
type Headers = Record<string, string | string[] | null>;

/**
 * Returns an item of POST /v2/schedules/batch; null when a part of the schedule is hidden, without which the item would
 * be another schedule.
 */
export function scheduleItem(schedule: Schedule): ExportItem | null {
  const { misfire, startAtMs, endAtMs } = schedule;
  return item(
    schedule,
    {
      'Upstash-Cron': schedule.cron,
      'Upstash-Schedule-Id': schedule.id,
      'Carillon-Time-Zone': schedule.timeZone,
      'Carillon-Misfire': misfire === 'all' ? `all; window=${formatDuration(schedule.misfireWindowMs)}` : misfire,
      'Carillon-Overlap': schedule.overlap,
      'Carillon-Window': durationText(schedule.windowMs),
      'Carillon-Start': instantText(startAtMs),
      'Carillon-End': instantText(endAtMs),
      'Carillon-Anchor': /@every\b/i.test(schedule.cron) ? instantText(schedule.anchorMs) : null,
      'Carillon-Idempotency-Key': schedule.keyTemplate,
      'Upstash-Delay': durationText(schedule.delayMs),
    },
    schedule,
    schedule.state === 'paused',
  );
}

/**
 * Returns an item of POST /v2/batch; null as above. A message without a key gets one from its id, so that it arrives
 * once however often it is imported.
 */
export function messageItem(message: PendingMessage): ExportItem | null {
  const settings = {
    'Upstash-Not-Before': String(message.dueAtMs / 1_000),
    'Carillon-Idempotency-Key': message.idempotencyKey ?? `exported:${toWireMessageId(message.id)}`,
  };
  const { undisclosed } = message;
  return item(
    { ...message, ...undisclosed },
    settings,
    { ...message, ...fromDeliveryOptions(message.options), ...undisclosed },
    false,
  );
}

function item(request: Request, own: Headers, policy: DeliveryPolicy, paused: boolean): ExportItem | null {
  if (policy.redact !== null) return null;
  const headers: Headers = {
    ...own,
    'Upstash-Method': request.method,
    'Upstash-Retries': String(policy.maxRetries),
    'Upstash-Retry-Delay': policy.retryDelay,
    'Upstash-Timeout': formatDuration(policy.timeoutMs),
    'Upstash-Label': policy.labels.length === 0 ? null : policy.labels.join(','),
    ...callbackHeaders('Upstash-Callback', policy.callback),
    ...callbackHeaders('Upstash-Failure-Callback', policy.failureCallback),
    ...forwarded('Upstash-Forward-', request.headers),
  };
  return {
    destination: request.destination,
    headers: Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    ),
    ...bodyOf(request.body),
    ...(paused && { paused }),
  };
}

function callbackHeaders(name: string, callback: CallbackSpec | null): Headers {
  if (callback === null) return {};
  const { url, method, retries, retryDelay, timeoutMs, delayMs } = callback;
  return {
    [name]: url,
    [`${name}-Method`]: method,
    [`${name}-Retries`]: retries === null ? null : String(retries),
    [`${name}-Retry-Delay`]: retryDelay,
    [`${name}-Timeout`]: timeoutMs === null ? null : formatDuration(timeoutMs),
    [`${name}-Delay`]: delayMs === null ? null : formatDuration(delayMs),
    ...forwarded(`${name}-Forward-`, callback.headers),
  };
}

function forwarded(prefix: string, headers: HeaderMap): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => {
      const texts = values.map(decodeHeaderText);
      return [prefix + name, texts.length === 1 ? (texts[0] ?? '') : texts];
    }),
  );
}

function bodyOf(body: Buffer): Pick<ExportItem, 'body' | 'bodyBase64'> {
  if (body.length === 0) return {};
  return isUtf8(body) ? { body: body.toString('utf8') } : { bodyBase64: body.toString('base64') };
}

function durationText(durationMs: number): string | null {
  return durationMs === 0 ? null : formatDuration(durationMs);
}

function instantText(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
