// Builds the callback messages of an attempt, which are stored in the transaction that stores its outcome.

import type { DeliveryResult } from '../delivery/delivery-result.js';
import { buildCallbackBody } from '../delivery/callback.js';
import { ID_RANDOM_BYTES, messageId, toWireMessageId } from '../domain/ids.js';
import { deadLetterId } from '../domain/dead-letter.js';
import { depthOf, withDepth } from '../domain/depth.js';
import type { CallbackSpec, Message } from '../domain/message.js';
import { ShownRequest } from '../domain/shown-request.js';
import { shardOfMessage } from '../domain/shard.js';
import type { RandomBytes } from '../domain/clock.js';

export interface Attempted {
  readonly message: Message;
  /** From 1. */
  readonly attempt: number;
  readonly result: DeliveryResult;
  /** Whether no other attempt follows. */
  readonly isLast: boolean;
  /** Whether the message failed for good with this attempt. */
  readonly exhausted: boolean;
  readonly endedAtMs: number;
}

export interface CallbackSettings {
  readonly shards: number;
  readonly defaultTimeoutMs: number;
  /** Bytes of the answer in the callback of an attempt that is retried. */
  readonly retriedAnswerBytes: number;
  /** Larger messages are not copied into their callbacks, because each attempt has one. */
  readonly copiedSourceBytes: number;
}

/**
 * Returns a callback for every attempt, as QStash sends them, and the failure callback once, when the message is
 * exhausted.
 */
export function callbacksOf(attempted: Attempted, settings: CallbackSettings, random: RandomBytes): Message[] {
  const { message, exhausted } = attempted;
  const messages: Message[] = [];
  if (message.callback !== null) {
    messages.push(callbackMessage('callback', message.callback, attempted, settings, random));
  }
  if (message.failureCallback !== null && exhausted) {
    messages.push(callbackMessage('failure-callback', message.failureCallback, attempted, settings, random));
  }
  return messages;
}

function callbackMessage(
  kind: 'callback' | 'failure-callback',
  spec: CallbackSpec,
  attempted: Attempted,
  settings: CallbackSettings,
  random: RandomBytes,
): Message {
  const { message, endedAtMs } = attempted;
  const createdAtMs = Math.ceil(endedAtMs);
  const dueAtMs = createdAtMs + (spec.delayMs ?? 0);
  const id = messageId(dueAtMs, random(ID_RANDOM_BYTES));
  const isCopied = sourceBytes(message) <= settings.copiedSourceBytes;
  return {
    id,
    tenantId: message.tenantId,
    shard: shardOfMessage(id, settings.shards),
    kind,
    scheduleId: message.scheduleId,
    occurrenceAtMs: null,
    idempotencyKey: null,
    sourceId: message.id,
    overlap: null,
    dueAtMs,
    createdAtMs,
    destination: spec.url,
    method: spec.method ?? 'POST',
    headers: { 'Content-Type': ['application/json'], ...spec.headers },
    body: bodyOf(kind, attempted, isCopied, settings.retriedAnswerBytes),
    maxRetries: spec.retries ?? message.maxRetries,
    retryDelay: spec.retryDelay ?? message.retryDelay,
    timeoutMs: spec.timeoutMs ?? settings.defaultTimeoutMs,
    callback: null,
    failureCallback: null,
    labels: message.labels,
    redact: message.redact,
    callerIp: message.callerIp,
    ...withDepth(depthOf(message) + 1),
    ...(isCopied ? {} : { sourceOf: message.id }),
  };
}

function sourceBytes({ headers, body }: Message): number {
  return Object.entries(headers).reduce((sum, entry) => sum + String(entry).length, body.length);
}

function bodyOf(
  kind: 'callback' | 'failure-callback',
  attempted: Attempted,
  isCopied: boolean,
  retriedAnswerBytes: number,
): Buffer {
  const { message, attempt, result } = attempted;
  const answered = result.kind === 'response';
  const body = answered ? result.body : Buffer.from(result.message);
  const isBodyCut = !attempted.isLast && body.length > retriedAnswerBytes;
  return buildCallbackBody({
    status: answered ? result.status : 0,
    header: answered ? result.headers : {},
    body: isBodyCut ? body.subarray(0, retriedAnswerBytes) : body,
    isBodyCut,
    retried: attempt - 1,
    maxRetries: message.maxRetries,
    sourceMessageId: toWireMessageId(message.id),
    url: message.destination,
    method: message.method,
    ...(isCopied && { source: ShownRequest.of(message) }),
    notBeforeMs: message.dueAtMs,
    createdAtMs: message.createdAtMs,
    scheduleId: message.scheduleId,
    callerIp: message.callerIp,
    dlqId: kind === 'failure-callback' ? deadLetterId(attempted.endedAtMs, message.id) : null,
  });
}
