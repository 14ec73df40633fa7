// What the sweeps read: a shard's work in due order, a bounded number of rows at a time.

import { fromUuid, type MessageId } from '../../domain/ids.js';
import type { Queryable } from '../database.js';

export interface MessageToPromote {
  readonly id: MessageId;
  readonly dueAtMs: number;
}

export interface ScheduleToPromote {
  readonly tenantId: number;
  readonly id: string;
  readonly nextFireAtMs: number;
  readonly generation: number;
}

export interface OverdueMessage extends MessageToPromote {
  readonly held: boolean;
  readonly tenantId: number;
  readonly scheduleId: string | null;
}

/** Pending messages with `fromId <= id < untilId` that are due before the horizon, in due order. */
export async function messagesToPromote(
  table: Queryable,
  range: { shard: number; fromId: MessageId; untilId: MessageId; horizonAtMs: number; limit: number },
): Promise<MessageToPromote[]> {
  const rows = await table.run('select-messages-to-promote', range);
  return rows.map((row) => ({ id: fromUuid(row.id), dueAtMs: row.next_attempt_at }));
}

/** Where a walk through a shard's schedules stands. */
export interface SchedulePosition {
  readonly atMs: number;
  readonly tenantId: number;
  readonly id: string;
}

/** Active schedules after a position that fire before `untilMs`, in that order. */
export async function schedulesToPromote(
  table: Queryable,
  { shard, after, untilMs, limit }: { shard: number; after: SchedulePosition; untilMs: number; limit: number },
): Promise<ScheduleToPromote[]> {
  const rows = await table.run('select-schedules-to-promote', {
    ...{ shard, untilMs, limit },
    fromMs: after.atMs,
    afterTenantId: after.tenantId,
    afterId: after.id,
  });
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    id: row.id,
    nextFireAtMs: row.next_fire_at,
    generation: row.generation,
  }));
}

/**
 * Messages overdue since `overdueAtMs`, after an id, in due order, that were created before `createdBeforeMs`, or are occurrences that were
 * created before `occurrencesBeforeMs`.
 */
export async function overdueMessages(
  table: Queryable,
  range: {
    shard: number;
    afterId: MessageId;
    untilId: MessageId;
    overdueAtMs: number;
    createdBeforeMs: number;
    occurrencesBeforeMs: number;
    limit: number;
  },
): Promise<OverdueMessage[]> {
  const rows = await table.run('select-messages-to-rescue', range);
  return rows.map((row) => ({
    id: fromUuid(row.id),
    dueAtMs: row.next_attempt_at,
    held: row.held,
    tenantId: row.tenant_id,
    scheduleId: row.schedule_id,
  }));
}
