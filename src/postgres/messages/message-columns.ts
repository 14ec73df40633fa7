// How messages become column arrays for multi-row inserts, and rows become messages again.

import { fromUuid, type MessageId } from '../../domain/ids.js';
import type { Message, MessageState } from '../../domain/message.js';
import type { Params, Row } from '../database.js';
import { fromDeliveryOptions, type OptionalPolicy, toDeliveryOptions } from './delivery-options.js';

/** What a row adds to the message it was inserted as, where delivery must know it. */
export interface StoredMessage extends Message {
  readonly state: MessageState;
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  readonly held: boolean;
}

export type DispatchRow = Row<'select-dispatch'>;

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

/** What insert-messages.sql and insert-new-messages.sql take. */
export function messageColumns(rows: readonly NewMessage[]): Params<'insert-messages'> {
  const column = <Value>(value: (row: NewMessage) => Value): Value[] => rows.map(value);
  return {
    ids: column((row) => row.message.id),
    tenantIds: column((row) => row.message.tenantId),
    shards: column((row) => row.message.shard),
    kinds: column((row) => row.message.kind),
    states: column((row) => (row.skipped === null ? 'pending' : 'skipped')),
    reasons: column((row) => row.skipped?.reason ?? null),
    held: column((row) => row.held),
    scheduleIds: column((row) => row.message.scheduleId),
    occurrenceAtMs: column((row) => row.message.occurrenceAtMs),
    coversUntilMs: column((row) => row.skipped?.coversUntilMs ?? null),
    overlaps: column((row) => row.message.overlap),
    idempotencyKeys: column((row) => row.message.idempotencyKey),
    sourceIds: column((row) => row.message.sourceId),
    dueAtMs: column((row) => row.message.dueAtMs),
    createdAtMs: column((row) => row.message.createdAtMs),
    destinations: column((row) => row.message.destination),
    methods: column((row) => row.message.method),
    headers: column((row) => JSON.stringify(row.message.headers)),
    bodies: column((row) => row.message.body),
    maxRetries: column((row) => row.message.maxRetries),
    timeoutMs: column((row) => row.message.timeoutMs),
    labels: column((row) => (row.message.labels.length === 0 ? null : JSON.stringify(row.message.labels))),
    options: column((row) => optionsColumn(row.message)),
  };
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
