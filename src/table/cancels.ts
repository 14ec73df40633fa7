// Cancels messages that wait for their delivery.

import { fromUuid, type MessageId } from '../domain/ids.js';
import type { Database } from './database.js';
import { timestamp } from './message-columns.js';
import { expireKeys } from './outcomes.js';

export interface Canceled {
  readonly id: MessageId;
  readonly shard: number;
  /** The schedule whose next occurrence may have waited for this one; null when none can have. */
  readonly scheduleToRelease: string | null;
}

interface CanceledRow {
  id: string;
  shard: number;
  overlap: string | null;
  schedule_id: string | null;
  idempotency_key: string | null;
}

/** Cancels those of a tenant's messages that are pending, and gives them. Their keys may be used again from `keysUntilMs` on. */
export async function cancelMessages(
  database: Database,
  tenantId: number,
  ids: readonly MessageId[],
  { nowMs, keysUntilMs }: { nowMs: number; keysUntilMs: number },
): Promise<Canceled[]> {
  if (ids.length === 0) return [];
  const rows = await database.transaction(async (connection) => {
    const canceled = await connection.run<CanceledRow>('cancel-messages', [tenantId, ids, timestamp(nowMs)]);
    const ended = canceled.map((row) => ({
      message: { id: fromUuid(row.id), tenantId, idempotencyKey: row.idempotency_key },
      atMs: keysUntilMs,
    }));
    await expireKeys(connection, ended);
    return canceled;
  });
  return rows.map((row) => ({
    id: fromUuid(row.id),
    shard: row.shard,
    scheduleToRelease: row.overlap === null ? null : row.schedule_id,
  }));
}
