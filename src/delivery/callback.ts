// Builds the JSON of callbacks and failure callbacks: what was sent, and what the receiver answered.
import type { HeaderMap } from '../domain/message.js';
import type { ShownRequest } from '../domain/shown-request.js';
import { canonicalHeaders } from './request-headers.js';

export interface CallbackInput {
  /** Status of the receiver's answer; 0 when there was none. */
  readonly status: number;
  readonly header: HeaderMap;
  /** The receiver's answer, or the error text when there was none. */
  readonly body: Uint8Array;
  /** Whether the answer was longer. */
  readonly isBodyCut?: boolean;
  readonly retried: number;
  readonly maxRetries: number;
  readonly sourceMessageId: string;
  readonly url: string;
  readonly method: string;
  /** The reported message. Omitted when it is added later (completeCallbackBody). */
  readonly source?: ShownRequest;
  /** When the source message was due. */
  readonly notBeforeMs: number;
  readonly createdAtMs: number;
  readonly scheduleId?: string | null;
  readonly callerIp?: string | null;
  readonly topicName?: string | null;
  readonly endpointName?: string | null;
  /** The dead letter, for a failure callback. */
  readonly dlqId?: string | null;
}

const NOTHING = Buffer.alloc(0);

/**
 * Returns the body of a callback message, sent as application/json. Bytes are base64, times epoch milliseconds, absent
 * fields omitted.
 */
export function buildCallbackBody(input: CallbackInput): Buffer {
  return Buffer.from(
    JSON.stringify({
      status: input.status,
      header: canonicalHeaders(input.header),
      body: base64(input.body),
      bodyTruncated: input.isBodyCut === true ? true : undefined,
      retried: input.retried,
      maxRetries: input.maxRetries,
      sourceMessageId: input.sourceMessageId,
      topicName: input.topicName ?? undefined,
      endpointName: input.endpointName ?? undefined,
      url: input.url,
      method: input.method,
      ...(input.source === undefined ? {} : sourceFields(input.source)),
      notBefore: input.notBeforeMs,
      createdAt: input.createdAtMs,
      scheduleId: input.scheduleId ?? undefined,
      callerIP: input.callerIp ?? undefined,
      dlqId: input.dlqId ?? undefined,
    }),
  );
}

/** Adds the source to a callback's body that was built without it. */
export function completeCallbackBody(stored: Buffer, source: ShownRequest): Buffer {
  const fields = JSON.parse(stored.toString()) as object;
  return Buffer.from(JSON.stringify({ ...fields, ...sourceFields(source) }));
}

function sourceFields({ headers, body }: ShownRequest): { sourceHeader: HeaderMap; sourceBody: string } {
  return { sourceHeader: headers, sourceBody: base64(body ?? NOTHING) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
