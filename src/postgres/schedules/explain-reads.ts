// Reads what is known about a schedule around a moment: the changes made to it, the occurrence's record and the one before, and its shard.

import { fromUuid, messageIdFloor } from '../../domain/ids.js';
import type { FailedAttempt, OccurrenceRecord, ScheduleChange, ShardGrant } from '../../domain/explain-facts.js';
import type { Queryable } from '../database.js';
import { attemptsOf, COVERING_ROWS, getRuns, LATER_ROWS } from '../runs/runs.js';

/** How many changes are looked at: the latest. */
const CHANGES_MAX = 500;
const ATTEMPTS_MAX = 20;

/** The changes of a schedule, the oldest first. Also of one that is deleted. */
export async function scheduleChanges(table: Queryable, tenantId: number, id: string): Promise<ScheduleChange[]> {
  const rows = await table.run('select-schedule-changes', { tenantId, scheduleId: id, limit: CHANGES_MAX });
  return rows
    .map(({ at, generation, change, detail }) => ({
      atMs: at,
      generation,
      change,
      cron: detail.cron ?? null,
      timeZone: detail.timeZone ?? null,
    }))
    .reverse();
}

export interface OccurrenceReads {
  /** The occurrence's own record, or the skipped one that stands for it. */
  readonly record: OccurrenceRecord | null;
  readonly attempts: readonly FailedAttempt[];
  /** The latest before it that was to be sent. */
  readonly before: OccurrenceRecord | null;
}

/** The occurrence of a schedule whose nominal time lies between two times, both included. */
export async function occurrenceAround(
  table: Queryable,
  tenantId: number,
  scheduleId: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<OccurrenceReads> {
  const rows = await table.run('select-occurrence-around', {
    ...{ tenantId, scheduleId, fromMs, toMs },
    lowId: messageIdFloor(fromMs),
    rowsBefore: COVERING_ROWS,
    rowsAfter: LATER_ROWS,
  });
  const ids = rows.map(({ id }) => fromUuid(id));
  const runs = new Map((await getRuns(table, tenantId, ids, 0)).map((run) => [run.id, run]));
  const recordOf = (what: 'exact' | 'covers' | 'before'): OccurrenceRecord | null => {
    const row = rows.find((one) => one.what === what);
    const run = row === undefined ? undefined : runs.get(fromUuid(row.id));
    return row === undefined || run === undefined ? null : { ...run, isHeld: row.held };
  };
  const record = recordOf('exact') ?? recordOf('covers');
  const attempts =
    record === null || record.attempts === 0 ? [] : await attemptsOf(table, tenantId, record.id, ATTEMPTS_MAX);
  return {
    record,
    before: recordOf('before'),
    attempts,
  };
}

/** Null for a shard that there is not. */
export async function shardGrant(table: Queryable, shard: number): Promise<ShardGrant | null> {
  const [row] = await table.run('select-shard', { shard });
  return row === undefined ? null : { shard: row.shard, epoch: row.epoch, node: row.node, grantedAtMs: row.granted_at };
}
