// Giving up what cannot be worked on, whatever is wrong with it: by its id alone, without reading the row.

import { fromUuid, messageIdTimeMs, type MessageId } from '../../domain/ids.js';
import type { ScheduleKey } from '../schedules/claimed-schedules.js';
import type { Database } from '../database.js';
import { expireKeys, lookUntil, releaseHeld, type Released, storableText } from './outcomes.js';

export interface DeadLettered {
  readonly tenantId: number;
  /** The occurrence that waited for it, if any. */
  readonly released: readonly Released[];
}

/** Makes a pending message a dead letter without an attempt. Null when there is no such message, or it has ended. */
export async function deadLetterMessage(
  database: Database,
  id: MessageId,
  reason: string,
  { nowMs, keysUntilMs }: { nowMs: number; keysUntilMs: number },
): Promise<DeadLettered | null> {
  const row = await database.transaction(async (connection) => {
    const [given] = await connection.run('give-up-message', { id, reason: storableText(reason), nowMs });
    if (given === undefined) return null;
    const message = { id: fromUuid(given.id), tenantId: given.tenant_id, idempotencyKey: given.idempotency_key };
    await expireKeys(connection, [{ message, atMs: keysUntilMs }]);
    return given;
  });
  if (row === null) return null;
  const { tenant_id: tenantId, schedule_id: scheduleId, overlap } = row;
  const held = overlap === null || scheduleId === null ? [] : [{ tenantId, scheduleId }];
  return { tenantId, released: await releaseHeld(database, held, lookUntil(nowMs, [messageIdTimeMs(id)])) };
}

/** Says on a schedule why it cannot be fired. True when that is news. */
export async function noteScheduleError(
  database: Database,
  { tenantId, id }: ScheduleKey,
  error: string,
): Promise<boolean> {
  return (await database.run('note-schedule-error', { tenantId, id, error: storableText(error) })).length > 0;
}
