// Cancels messages that wait for their delivery. A cancel is committed first, without confirmation, and confirmed when nothing can begin to
// send the message any more: only then is it acknowledged. Both states are told by the row's `reason`.

import { fromUuid, type MessageId } from '../../domain/ids.js';
import type { Database, Queryable } from '../database.js';
import { filterParams, type MessageFilter } from './message-filter.js';
import type { CreatedBetween } from './message-reads.js';
import { expireKeys } from './outcomes.js';

export interface Canceled {
  readonly id: MessageId;
  readonly shard: number;
  /** The schedule whose next occurrence may have waited for this one; null when none can have. */
  readonly scheduleToRelease: string | null;
  readonly attempts: number;
  readonly dueAtMs: number;
  readonly nextAttemptAtMs: number;
  readonly createdAtMs: number;
  readonly bodyBytes: number;
}

/**
 * Cancels those of a tenant's messages that are pending. Returns them, and those that were canceled before without being confirmed. Their keys
 * may be used again from `keysUntilMs` on.
 */
export async function cancelMessages(
  database: Database,
  tenantId: number,
  ids: readonly MessageId[],
  { nowMs, keysUntilMs }: { nowMs: number; keysUntilMs: number },
): Promise<Canceled[]> {
  if (ids.length === 0) return [];
  const rows = await database.transaction(async (connection) => {
    const canceled = await connection.run('cancel-messages', { tenantId, ids, nowMs });
    const ended = canceled.map((row) => ({
      message: { id: fromUuid(row.id), tenantId, idempotencyKey: row.idempotency_key },
      atMs: keysUntilMs,
    }));
    await expireKeys(connection, ended);
    if (canceled.length === ids.length) return canceled;
    const found = new Set(canceled.map(({ id }) => fromUuid(id)));
    const others = ids.filter((id) => !found.has(id));
    return [...canceled, ...(await connection.run('select-unconfirmed-cancels', { tenantId, ids: others }))];
  });
  return rows.map((row) => ({
    id: fromUuid(row.id),
    shard: row.shard,
    scheduleToRelease: row.overlap === null ? null : row.schedule_id,
    attempts: row.attempts,
    dueAtMs: row.due_at,
    nextAttemptAtMs: row.next_attempt_at,
    createdAtMs: row.created_at,
    bodyBytes: row.body_bytes,
  }));
}

/** Confirms cancels. Returns those that are still canceled and were not confirmed before. */
export async function confirmCancels(
  database: Database,
  tenantId: number,
  ids: readonly MessageId[],
): Promise<MessageId[]> {
  if (ids.length === 0) return [];
  const rows = await database.run('confirm-cancels', { tenantId, ids });
  return rows.map((row) => fromUuid(row.id));
}

/** Ids of at most `limit` messages that the filter wants and whose cancel, after this time, was not confirmed; in no particular order. */
export async function findUnconfirmedCancels(
  table: Queryable,
  tenantId: number,
  filter: MessageFilter,
  created: CreatedBetween,
  { afterMs, limit }: { afterMs: number; limit: number },
): Promise<MessageId[]> {
  const rows = await table.run('select-unconfirmed-matching', {
    ...filterParams(filter),
    tenantId,
    createdFromMs: created.fromMs,
    createdToMs: created.toMs,
    canceledFromMs: afterMs,
    limit,
  });
  return rows.map((row) => fromUuid(row.id));
}
