// Views of stored messages: the objects of the wire contract, redacted, with absent fields omitted and never null.

import { isUtf8 } from 'node:buffer';
import { canonicalHeaders } from '../delivery/request-headers.js';
import { deadLetterId } from '../domain/dead-letter.js';
import { toWireMessageId } from '../domain/ids.js';
import type { HeaderMap } from '../domain/message.js';
import type { ShownCallback } from '../domain/shown-request.js';
import type { DeadLetterRecord } from '../postgres/messages/dead-letters.js';
import type { EventDetail } from '../postgres/events/events.js';
import type { MessageRecord } from '../postgres/messages/message-reads.js';
import { decodeHeaderText } from './header-text.js';

/** The fields of an object on the wire before absent ones are omitted. */
export type Fields = Readonly<Record<string, unknown>>;

type IsAbsent<Value> = null extends Value ? true : undefined extends Value ? true : false;
/** Maps fields that may be null or undefined to optional fields. */
export type Present<Given> = {
  [Name in keyof Given as IsAbsent<Given[Name]> extends true ? never : Name]: Given[Name];
} & { [Name in keyof Given as IsAbsent<Given[Name]> extends true ? Name : never]?: NonNullable<Given[Name]> };

/** Returns the fields that are neither null nor undefined. */
export function present<Given extends Fields>(fields: Given): Present<Given>;
export function present(fields: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** Returns a Message of the wire contract. */
export function messageView(message: MessageRecord): Record<string, unknown> {
  return present({
    messageId: toWireMessageId(message.id),
    url: message.destination,
    method: message.method,
    header: headerText(message.shown.headers),
    ...bytesView('body', message.shown.body),
    maxRetries: message.maxRetries,
    ...retryDelayView(message),
    notBefore: message.dueAtMs,
    createdAt: message.createdAtMs,
    timeout: message.timeoutMs,
    ...callbackView('callback', 'callbackHeader', message.shown.callback),
    ...callbackView('failureCallback', 'failureCallbackHeader', message.shown.failureCallback),
    scheduleId: message.scheduleId,
    callerIP: message.options.callerIp,
    ...labelsView(message.labels),
  });
}

/** Returns a DLQ message of the wire contract. */
export function deadLetterView(deadLetter: DeadLetterRecord): Record<string, unknown> {
  return present({
    ...messageView(deadLetter),
    dlqId: deadLetterId(deadLetter.diedAtMs, deadLetter.id),
    ...answerView(deadLetter.lastStatus ?? 0, deadLetter.lastHeaders),
    ...bytesView('responseBody', deadLetter.lastBody),
    responseError: deadLetter.lastError,
  });
}

/** Returns an Event of the wire contract. Its bodies are base64, unlike those of messages. */
export function eventView(event: EventDetail): Record<string, unknown> {
  const { message, outcome } = event;
  return present({
    time: event.atMs,
    state: event.state,
    messageId: toWireMessageId(event.messageId),
    url: message.destination,
    method: message.method,
    header: headerText(message.shown.headers),
    body: base64(message.shown.body),
    error: event.state === 'DELIVERED' ? null : outcome?.error,
    nextDeliveryTime: event.state === 'RETRY' || event.state === 'ERROR' ? outcome?.nextAttemptAtMs : null,
    scheduleId: message.scheduleId,
    timeout: message.timeoutMs,
    ...callbackView('callback', 'callbackHeaders', message.shown.callback),
    ...callbackView('failureCallback', 'failureCallbackHeaders', message.shown.failureCallback),
    maxRetries: message.maxRetries,
    ...retryDelayView(message),
    callerIP: message.options.callerIp,
    ...labelsView(message.labels),
    ...(outcome === null || event.state === 'RETRY' ? {} : eventAnswer(outcome)),
  });
}

function eventAnswer(outcome: NonNullable<EventDetail['outcome']>): Fields {
  return { ...answerView(outcome.status ?? 0, outcome.headers), responseBody: base64(outcome.body) };
}

function base64(bytes: Buffer | null): string | null {
  return bytes === null || bytes.length === 0 ? null : bytes.toString('base64');
}

/** Clients read one spelling or the other, so both are present. */
function answerView(status: number, headers: HeaderMap | null): Fields {
  const shown = headers === null ? null : answerHeaders(headers);
  return { responseStatus: status, responseHeader: shown, responseHeaders: shown };
}

function retryDelayView(message: MessageRecord): Fields {
  const { retryDelay } = message.options;
  return { retryDelayExpression: retryDelay, retryDelayExpr: retryDelay };
}

function labelsView(labels: readonly string[]): Fields {
  return labels.length === 0 ? {} : { label: labels[0], labels };
}

function callbackView(name: string, headersName: string, callback: ShownCallback | null): Fields {
  if (callback === null) return {};
  const hasHeaders = Object.keys(callback.headers).length > 0;
  return { [name]: callback.url, [headersName]: hasHeaders ? headerText(callback.headers) : null };
}

/** Returns `<name>` when the bytes are text, otherwise `<name>Base64`; nothing when there are none. */
export function bytesView<Name extends string>(
  name: Name,
  bytes: Buffer | null,
): Readonly<Partial<Record<Name | `${Name}Base64`, string>>>;
export function bytesView(name: string, bytes: Buffer | null): Record<string, string> {
  if (bytes === null || bytes.length === 0) return {};
  return isUtf8(bytes) ? { [name]: bytes.toString('utf8') } : { [`${name}Base64`]: bytes.toString('base64') };
}

/** Returns headers as text: their values are stored as bytes, one character each. */
export function headerText(headers: HeaderMap): HeaderMap {
  return Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values.map(decodeHeaderText)]));
}

/** Returns headers of an answer, whose names are stored in lower case. */
export function answerHeaders(headers: HeaderMap): HeaderMap {
  return headerText(canonicalHeaders(headers));
}
