// Creates the message that repeats a dead letter, with the settings that a request overrides.

import { withDepth } from '../domain/depth.js';
import { ID_RANDOM_BYTES, messageId } from '../domain/ids.js';
import type { HeaderMap, Message } from '../domain/message.js';
import { CarillonError } from '../domain/errors.js';
import { mergeRedactFields } from '../domain/redaction.js';
import { shardOfMessage } from '../domain/shard.js';
import type { DeadLetter } from '../postgres/messages/dead-letters.js';
import { valueOf } from './delivery-headers.js';
import { readSubmission, type MessageSettings } from './message-headers.js';
import type { RequestSettings } from './request-settings.js';

/**
 * Returns the same work, due now: a new message with the same request, policy and key, whose source is the dead
 * letter. Its depth is the larger of the dead letter's and the request's (`depth`).
 */
export function repeatOf(
  deadLetter: DeadLetter,
  tenantId: number,
  { config, clock, random }: MessageSettings,
  depth: number,
): Message {
  const nowMs = Math.floor(clock.nowMs());
  const id = messageId(nowMs, random(ID_RANDOM_BYTES));
  const { options, undisclosed } = deadLetter;
  return {
    id,
    tenantId,
    shard: shardOfMessage(id, config.CARILLON_SHARDS),
    kind: 'dlq-retry',
    scheduleId: deadLetter.scheduleId,
    // The receiver of an occurrence identifies it by its nominal time, also in a retry.
    occurrenceAtMs: deadLetter.occurrenceAtMs,
    idempotencyKey: deadLetter.idempotencyKey,
    sourceId: deadLetter.id,
    overlap: null,
    dueAtMs: nowMs,
    createdAtMs: nowMs,
    destination: deadLetter.destination,
    method: deadLetter.method,
    headers: undisclosed.headers,
    body: undisclosed.body,
    maxRetries: deadLetter.maxRetries,
    retryDelay: options.retryDelay ?? null,
    timeoutMs: deadLetter.timeoutMs,
    callback: undisclosed.callback,
    failureCallback: undisclosed.failureCallback,
    labels: deadLetter.labels,
    redact: undisclosed.redact,
    callerIp: options.callerIp ?? null,
    ...withDepth(Math.max(options.depth ?? 0, depth)),
    ...(options.sourceOf === undefined ? {} : { sourceOf: options.sourceOf }),
  };
}

/** Settings that identify work. A retry is the work of its dead letter, whatever it is sent with. */
const NOT_FOR_RETRIES = [
  'Carillon-Idempotency-Key',
  'Upstash-Deduplication-Id',
  'Upstash-Content-Based-Deduplication',
] as const;

/**
 * Like `repeatOf`, with the request's headers in place of the stored settings. Throws what reading a message throws.
 */
export function repeatWith(
  deadLetter: DeadLetter,
  tenantId: number,
  settings: RequestSettings,
  context: MessageSettings,
): Message {
  for (const name of NOT_FOR_RETRIES) {
    if (valueOf(settings, name) === null) continue;
    throw new CarillonError(
      'INVALID_REQUEST',
      `${name} cannot be set on a retry: it repeats the work of its dead letter`,
    );
  }
  const repeat = repeatOf(deadLetter, tenantId, context, settings.depth);
  const { destination } = deadLetter;
  const source = { tenantId, destination, settings, body: repeat.body, callerIp: repeat.callerIp };
  const { message: wanted } = readSubmission(source, context);
  const isSet = (name: string): boolean => valueOf(settings, name) !== null;
  return {
    ...repeat,
    // The due time may be later (Upstash-Delay, Upstash-Not-Before), and it is part of the id.
    id: wanted.id,
    shard: wanted.shard,
    dueAtMs: wanted.dueAtMs,
    method: isSet('Upstash-Method') ? wanted.method : repeat.method,
    headers: mergedHeaders(repeat.headers, settings.forwarded),
    maxRetries: isSet('Upstash-Retries') ? wanted.maxRetries : repeat.maxRetries,
    retryDelay: isSet('Upstash-Retry-Delay') ? wanted.retryDelay : repeat.retryDelay,
    timeoutMs: isSet('Upstash-Timeout') ? wanted.timeoutMs : repeat.timeoutMs,
    callback: isSet('Upstash-Callback') ? wanted.callback : repeat.callback,
    failureCallback: isSet('Upstash-Failure-Callback') ? wanted.failureCallback : repeat.failureCallback,
    labels: isSet('Upstash-Label') ? wanted.labels : repeat.labels,
    // A retry may hide more, not less: the caller may not have seen it.
    redact: mergeRedactFields(repeat.redact, wanted.redact),
  };
}

/**
 * Returns the stored headers with the forwarded ones in their place. The content is the stored one, so its type stays
 * as well.
 */
function mergedHeaders(stored: HeaderMap, forwarded: HeaderMap): HeaderMap {
  const others = Object.entries(forwarded).filter(([name]) => name !== 'Content-Type');
  return others.length === 0 ? stored : { ...stored, ...Object.fromEntries(others) };
}
