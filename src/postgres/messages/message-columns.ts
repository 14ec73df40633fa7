// How messages become column arrays for multi-row inserts, and rows become messages again.

import { fromUuid, type MessageId } from '../../domain/ids.js';
import type { HeaderMap, Message, MessageKind } from '../../domain/message.js';
import {
  type DeliveryOptions,
  fromDeliveryOptions,
  type OptionalPolicy,
  toDeliveryOptions,
} from './delivery-options.js';

/** What a row adds to the message it was inserted as, where delivery must know it. */
export interface StoredMessage extends Message {
  readonly state: string;
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  readonly held: boolean;
}

/** The columns of select-dispatch.sql. */
export interface DispatchRow {
  id: string;
  tenant_id: number;
  shard: number;
  kind: MessageKind;
  state: string;
  held: boolean;
  schedule_id: string | null;
  occurrence_at: number | null;
  overlap: 'skip' | 'queue' | null;
  idempotency_key: string | null;
  source_id: string | null;
  due_at: number;
  next_attempt_at: number;
  created_at: number;
  attempts: number;
  destination: string;
  method: string;
  headers: HeaderMap;
  body: Buffer;
  max_retries: number;
  timeout_ms: number;
  labels: string[] | null;
  options: DeliveryOptions | null;
}

/** A message as it goes into PostgreSQL: pending, held back, or skipped at once. */
export interface NewMessage {
  readonly message: Message;
  readonly held: boolean;
  /** Set when the row is only the record of a skipped occurrence. */
  readonly skipped: { readonly reason: string; readonly coversUntilMs: number | null } | null;
}

export function pending(message: Message): NewMessage {
  return { message, held: false, skipped: null };
}

/** The arrays that insert-new-messages.sql takes as $1 to $23, in its order: times as epoch milliseconds. */
export function messageColumns(rows: readonly NewMessage[]): unknown[] {
  const column = <Value>(value: (row: NewMessage) => Value): Value[] => rows.map(value);
  return [
    column((row) => row.message.id),
    column((row) => row.message.tenantId),
    column((row) => row.message.shard),
    column((row) => row.message.kind),
    column((row) => (row.skipped === null ? 'pending' : 'skipped')),
    column((row) => row.skipped?.reason ?? null),
    column((row) => row.held),
    column((row) => row.message.scheduleId),
    column((row) => row.message.occurrenceAtMs),
    column((row) => row.skipped?.coversUntilMs ?? null),
    column((row) => row.message.overlap),
    column((row) => row.message.idempotencyKey),
    column((row) => row.message.sourceId),
    column((row) => row.message.dueAtMs),
    column((row) => row.message.createdAtMs),
    column((row) => row.message.destination),
    column((row) => row.message.method),
    column((row) => JSON.stringify(row.message.headers)),
    column((row) => row.message.body),
    column((row) => row.message.maxRetries),
    column((row) => row.message.timeoutMs),
    column((row) => (row.message.labels.length === 0 ? null : JSON.stringify(row.message.labels))),
    column((row) => optionsColumn(row.message)),
  ];
}

export function timestamp(timeMs: number): string;
export function timestamp(timeMs: number | null): string | null;
export function timestamp(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(Math.ceil(timeMs)).toISOString();
}

/** Null where no optional setting is used, as in most rows. */
function optionsColumn(policy: OptionalPolicy): string | null {
  const options = JSON.stringify(toDeliveryOptions(policy));
  return options === '{}' ? null : options;
}

function messageFromRow(row: DispatchRow): StoredMessage {
  return {
    id: fromUuid(row.id),
    tenantId: row.tenant_id,
    shard: row.shard,
    kind: row.kind,
    state: row.state,
    held: row.held,
    scheduleId: row.schedule_id,
    occurrenceAtMs: row.occurrence_at,
    overlap: row.overlap,
    idempotencyKey: row.idempotency_key,
    sourceId: row.source_id === null ? null : fromUuid(row.source_id),
    dueAtMs: row.due_at,
    nextAttemptAtMs: row.next_attempt_at,
    createdAtMs: row.created_at,
    attempts: row.attempts,
    destination: row.destination,
    method: row.method,
    headers: row.headers,
    body: row.body,
    maxRetries: row.max_retries,
    timeoutMs: row.timeout_ms,
    labels: row.labels ?? [],
    ...fromDeliveryOptions(row.options),
  };
}

/** Rows by message id. */
export function byId(rows: readonly DispatchRow[]): Map<MessageId, StoredMessage> {
  return new Map(rows.map((row) => [fromUuid(row.id), messageFromRow(row)]));
}
