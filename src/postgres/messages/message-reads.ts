// Reads messages as clients ask for them: one by its id, and the pending ones that a bulk cancel wants.

import { fromUuid, type MessageId } from '../../domain/ids.js';
import type { MessageKind, MessageState } from '../../domain/message.js';
import { ShownRequest, type StoredRequest } from '../../domain/shown-request.js';
import type { Queryable, Row } from '../database.js';
import { fromDeliveryOptions, type DeliveryOptions } from './delivery-options.js';
import { filterParams, type MessageFilter } from './message-filter.js';

/** What a message says about itself to readers; `id` and times as everywhere. */
export interface MessageRecord {
  readonly id: MessageId;
  readonly state: MessageState;
  readonly kind: MessageKind;
  readonly scheduleId: string | null;
  readonly dueAtMs: number;
  readonly createdAtMs: number;
  readonly destination: string;
  readonly method: string;
  /** Headers, body (null when it is longer than the reader wanted) and callbacks. */
  readonly shown: ShownRequest;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly labels: readonly string[];
  readonly options: Omit<DeliveryOptions, 'callback' | 'failureCallback'>;
}

/** The columns from which a MessageRecord is made; the body is null where it is longer than the reader wanted. */
export type MessageRecordRow = Omit<Row<'select-message'>, 'body'> & { readonly body: Buffer | null };

export function messageRecord(row: MessageRecordRow): MessageRecord {
  const { callback: _callback, failureCallback: _failureCallback, ...options } = row.options ?? {};
  return {
    id: fromUuid(row.id),
    state: row.state,
    kind: row.kind,
    scheduleId: row.schedule_id,
    dueAtMs: row.due_at,
    createdAtMs: row.created_at,
    destination: row.destination,
    method: row.method,
    shown: ShownRequest.of(storedRequest(row)),
    maxRetries: row.max_retries,
    timeoutMs: row.timeout_ms,
    labels: row.labels ?? [],
    options,
  };
}

/** The request as it is delivered: for who sends it again, and for nobody who shows it. */
export function storedRequest({ headers, body, options }: MessageRecordRow): StoredRequest {
  const { callback, failureCallback, redact } = fromDeliveryOptions(options);
  return { headers, body, callback, failureCallback, redact };
}

/** A tenant's message in whatever state, or null. */
export async function getMessage(table: Queryable, tenantId: number, id: MessageId): Promise<MessageRecord | null> {
  const [row] = await table.run('select-message', { tenantId, id });
  return row === undefined ? null : messageRecord(row);
}

export interface CreatedBetween {
  /** Inclusive, in milliseconds since the epoch; null for no bound. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Ids of at most `limit` pending messages that the filter wants, in no particular order. */
export async function findCancelable(
  table: Queryable,
  tenantId: number,
  filter: MessageFilter,
  created: CreatedBetween,
  limit: number,
): Promise<MessageId[]> {
  const rows = await table.run('select-cancelable', {
    ...filterParams(filter),
    tenantId,
    createdFromMs: created.fromMs,
    createdToMs: created.toMs,
    limit,
  });
  return rows.map((row) => fromUuid(row.id));
}
