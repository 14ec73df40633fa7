// Encodes the parts of an immediate message that its delivery needs, as the payload of its entry.

import { isUtf8 } from 'node:buffer';
import { depthOf, withDepth } from '../domain/depth.js';
import type { HeaderMap, Message, MessageKind } from '../domain/message.js';

const VERSION = 1;

type Extra = Partial<
  Pick<
    Message,
    | 'retryDelay'
    | 'callback'
    | 'failureCallback'
    | 'labels'
    | 'redact'
    | 'callerIp'
    | 'sourceId'
    | 'overlap'
    | 'depth'
    | 'sourceOf'
  >
>;

type Payload = [
  version: number,
  tenantId: number,
  kind: MessageKind,
  destination: string,
  method: string,
  headers: HeaderMap,
  /** As text where the bytes are UTF-8, else base64. */
  bodyText: string | null,
  bodyBase64: string | null,
  maxRetries: number,
  timeoutMs: number,
  dueAtMs: number,
  createdAtMs: number,
  scheduleId: string | null,
  occurrenceAtMs: number | null,
  idempotencyKey: string | null,
  extra: Extra,
];

/**
 * Returns the payload of a message, or '' when its body is larger than `maxBodyBytes`: then the message is read from
 * PostgreSQL.
 */
export function encodePayload(message: Message, maxBodyBytes: number): string {
  if (message.body.length > maxBodyBytes) return '';
  const isText = isUtf8(message.body);
  const payload: Payload = [
    VERSION,
    message.tenantId,
    message.kind,
    message.destination,
    message.method,
    message.headers,
    isText ? message.body.toString('utf8') : null,
    isText ? null : message.body.toString('base64'),
    message.maxRetries,
    message.timeoutMs,
    message.dueAtMs,
    message.createdAtMs,
    message.scheduleId,
    message.occurrenceAtMs,
    message.idempotencyKey,
    extraOf(message),
  ];
  return JSON.stringify(payload);
}

/** Returns the message of a payload; null when another version wrote it, so that PostgreSQL must be read. */
export function decodePayload(id: string, shard: number, text: string): Message | null {
  const payload = JSON.parse(text) as Payload;
  if (payload[0] !== VERSION) return null;
  const [, tenantId, kind, destination, method, headers, bodyText, bodyBase64, maxRetries, timeoutMs] = payload;
  const [dueAtMs, createdAtMs, scheduleId, occurrenceAtMs, idempotencyKey, extra] = payload.slice(10) as [
    number,
    number,
    string | null,
    number | null,
    string | null,
    Extra,
  ];
  return {
    id,
    shard,
    tenantId,
    kind,
    destination,
    method,
    headers,
    body: bodyBase64 === null ? Buffer.from(bodyText ?? '', 'utf8') : Buffer.from(bodyBase64, 'base64'),
    maxRetries,
    timeoutMs,
    dueAtMs,
    createdAtMs,
    scheduleId,
    occurrenceAtMs,
    idempotencyKey,
    retryDelay: extra.retryDelay ?? null,
    callback: extra.callback ?? null,
    failureCallback: extra.failureCallback ?? null,
    labels: extra.labels ?? [],
    redact: extra.redact ?? null,
    callerIp: extra.callerIp ?? null,
    sourceId: extra.sourceId ?? null,
    overlap: extra.overlap ?? null,
    ...withDepth(extra.depth ?? 0),
    ...(extra.sourceOf === undefined ? {} : { sourceOf: extra.sourceOf }),
  };
}

function extraOf(message: Message): Extra {
  return {
    ...(message.retryDelay === null ? {} : { retryDelay: message.retryDelay }),
    ...(message.callback === null ? {} : { callback: message.callback }),
    ...(message.failureCallback === null ? {} : { failureCallback: message.failureCallback }),
    ...(message.labels.length === 0 ? {} : { labels: message.labels }),
    ...(message.redact === null ? {} : { redact: message.redact }),
    ...(message.callerIp === null ? {} : { callerIp: message.callerIp }),
    ...(message.sourceId === null ? {} : { sourceId: message.sourceId }),
    ...(message.overlap === null ? {} : { overlap: message.overlap }),
    ...withDepth(depthOf(message)),
    ...(message.sourceOf === undefined ? {} : { sourceOf: message.sourceOf }),
  };
}
