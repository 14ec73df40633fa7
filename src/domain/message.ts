// A message: one unit of work with one due time, and everything that its delivery needs.

import type { HasDepth } from './depth.js';
import type { MessageId } from './ids.js';

/** The states of a message. All but `pending` are final, except that a late success turns `failed` into `delivered`. */
export type MessageState = 'pending' | 'delivered' | 'failed' | 'canceled' | 'skipped';

/** The origin of a message. */
export type MessageKind =
  | 'message' // sent by a client
  | 'occurrence' // one nominal time of a schedule
  | 'manual' // a schedule triggered by hand, off the grid
  | 'callback' // reports an attempt of another message
  | 'failure-callback' // reports that another message is exhausted
  | 'dlq-retry'; // a dead letter sent again

/** Header values by canonical name (`Content-Type`, `X-Order-Id`), in order of arrival. */
export type HeaderMap = Readonly<Record<string, readonly string[]>>;

/** What is sent to the destination. */
export interface Request {
  /** Absolute http or https URL, verbatim from the client. */
  readonly destination: string;
  readonly method: string;
  readonly headers: HeaderMap;
  readonly body: Buffer;
}

/** A callback (or failure callback) of a message. Null fields take the parent's or the default value. */
export interface CallbackSpec {
  readonly url: string;
  readonly method: string | null;
  /** Headers to forward to the callback URL. */
  readonly headers: HeaderMap;
  readonly retries: number | null;
  readonly retryDelay: string | null;
  readonly timeoutMs: number | null;
  readonly delayMs: number | null;
}

/** How a message is delivered. */
export interface DeliveryPolicy extends HasDepth {
  readonly maxRetries: number;
  /** Upstash-Retry-Delay expression, verbatim. */
  readonly retryDelay: string | null;
  readonly timeoutMs: number;
  readonly callback: CallbackSpec | null;
  readonly failureCallback: CallbackSpec | null;
  readonly labels: readonly string[];
  /** Upstash-Redact-Fields, verbatim. */
  readonly redact: string | null;
  readonly callerIp: string | null;
  /** For a callback (or its repeat): the message whose headers and body are added to its body when it is sent. */
  readonly sourceOf?: MessageId;
}

/** A message as it is accepted or created, before its first attempt. */
export interface Message extends Request, DeliveryPolicy {
  readonly id: MessageId;
  readonly tenantId: number;
  readonly shard: number;
  readonly kind: MessageKind;
  readonly scheduleId: string | null;
  /** Nominal time of the occurrence; null unless kind is `occurrence`. */
  readonly occurrenceAtMs: number | null;
  /** Idempotency key, from the client or the schedule's template. */
  readonly idempotencyKey: string | null;
  /** The message that a callback reports on, or that a dead-letter retry repeats. */
  readonly sourceId: MessageId | null;
  /** The overlap policy of this occurrence; null when it is `allow`. */
  readonly overlap: 'skip' | 'queue' | null;
  readonly dueAtMs: number;
  readonly createdAtMs: number;
}
