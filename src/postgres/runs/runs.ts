// The record: one row for each occurrence or key, and what became of it. "Did it run, and what did it do?"

import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { Clock } from '../../domain/clock.js';
import type { MessageState } from '../../domain/message.js';
import type { AttemptRecord, Run } from '../../domain/run.js';
import type { Queryable, Row } from '../database.js';
import { attemptRecord } from '../events/events.js';
import { searchForLabels } from './labelled.js';
import { filterParams, type MessageFilter } from '../messages/message-filter.js';
import { ReadThroughput } from '../read-throughput.js';
import type { BoundedReads } from '../reads.js';

function runFromRow(row: Row<'select-runs'>): Run {
  return { ...row, id: fromUuid(row.id), sourceId: row.sourceId === null ? null : fromUuid(row.sourceId) };
}

/** Due times, inclusive, milliseconds since the epoch; null for no bound. */
export interface DueBetween {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

export interface RunQuery {
  readonly filter: MessageFilter;
  readonly due: DueBetween;
  /** The page begins below this id; null for the first page. */
  readonly beforeId: MessageId | null;
  readonly limit: number;
  /** How many bytes of each answer to give. */
  readonly answerBytes: number;
}

export interface RunPage {
  readonly runs: readonly Run[];
  /** Where the next page begins; null on the last one. A page may be shorter than asked for and still not be the last. */
  readonly nextBeforeId: MessageId | null;
}

const HIGHEST_ID = 'f'.repeat(32);

/** One page of the record, the latest due first. It ends where it is when the time is over. */
export async function pageRuns(reads: BoundedReads, clock: Clock, tenantId: number, query: RunQuery): Promise<RunPage> {
  const { lowId, highId } = idBounds(query.due);
  const wanted = query.limit + 1;
  const throughput = new ReadThroughput(clock, wanted);
  const found: MessageId[] = [];
  const startId = query.beforeId !== null && query.beforeId < highId ? query.beforeId : highId;
  let belowId = startId;
  const { filter, byWalking } = await searchForLabels(reads, tenantId, query.filter, { lowId, belowId });
  const { labels, ...others } = filterParams(filter);
  const asked = byWalking
    ? { ...others, labels: null, walkedLabels: labels }
    : { ...others, labels, walkedLabels: null };
  let nextBeforeId: MessageId | null = null;
  for (;;) {
    const { stepRows } = throughput;
    const params = { ...asked, tenantId, lowId, belowId, stepRows, limit: wanted - found.length };
    const rows = await reads.step((table) => table.run('select-run-page', params));
    if (rows === null) {
      if (belowId === startId) throw reads.tooSlow();
      nextBeforeId = belowId;
      break;
    }
    const [step] = rows;
    found.push(...(step?.ids ?? []).map(fromUuid));
    if (found.length > query.limit) {
      nextBeforeId = found[query.limit - 1] ?? null;
      break;
    }
    if (step?.last_id == null || step.looked_at < stepRows) break;
    belowId = fromUuid(step.last_id);
    if (throughput.goOn()) continue;
    nextBeforeId = belowId;
    break;
  }
  return { runs: await getRuns(reads, tenantId, found.slice(0, query.limit), query.answerBytes), nextBeforeId };
}

/** Runs by their ids, the latest due first; unknown ones and other tenants' are left out. */
export async function getRuns(
  table: Queryable,
  tenantId: number,
  ids: readonly MessageId[],
  answerBytes: number,
): Promise<Run[]> {
  if (ids.length === 0) return [];
  const rows = await table.run('select-runs', { tenantId, ids, answerBytes });
  return rows.map(runFromRow);
}

/** The failed attempts of a message in order; of more than `limit` the latest. */
export async function attemptsOf(
  table: Queryable,
  tenantId: number,
  id: MessageId,
  limit: number,
): Promise<AttemptRecord[]> {
  const rows = await table.run('select-attempts-of', { tenantId, messageId: id, limit });
  return rows.map(attemptRecord);
}

/** How many runs are in each state; null when more than `most` would have to be looked at. */
export async function countRuns(
  table: Queryable,
  tenantId: number,
  filter: MessageFilter,
  due: DueBetween,
  most: number,
): Promise<Record<MessageState, number> | null> {
  const { lowId, highId } = idBounds(due);
  const rows = await table.run('count-runs', {
    ...filterParams(filter),
    tenantId,
    lowId,
    belowId: highId,
    limit: most + 1,
  });
  if (rows.reduce((sum, row) => sum + row.looked_at, 0) > most) return null;
  const counts = { pending: 0, delivered: 0, failed: 0, canceled: 0, skipped: 0 };
  for (const row of rows) counts[row.state] = row.count;
  return counts;
}

/** No chain of retries is followed further back than this. */
const RETRIES_FOLLOWED = 20;

/** The messages that hold idempotency keys and, where one is a retry, the dead letters it was retried from. */
export async function messagesOfKeys(
  table: Queryable,
  tenantId: number,
  keys: readonly string[],
): Promise<MessageId[]> {
  const ids = new Set<MessageId>();
  let rows = await table.run('select-messages-of-keys', { tenantId, keys });
  for (let depth = 0; rows.length > 0 && depth < RETRIES_FOLLOWED; depth++) {
    const fresh = rows.map((row) => fromUuid(row.id)).filter((id) => !ids.has(id));
    if (fresh.length === 0) break;
    for (const id of fresh) ids.add(id);
    rows = await table.run('select-retried-from', { tenantId, ids: fresh });
  }
  return [...ids];
}

/** How many rows before an occurrence are looked at for a skipped one that covers it. */
export const COVERING_ROWS = 1_000;
/** How many rows due from its nominal time on are looked at for an occurrence's own: those that a delay and a window may put before it. */
export const LATER_ROWS = 20_000;

/** The message that records an occurrence (or the skipped one that covers it): none, one or both. */
export async function messagesOfOccurrence(
  table: Queryable,
  tenantId: number,
  scheduleId: string,
  occurrenceAtMs: number,
): Promise<MessageId[]> {
  const rows = await table.run('select-message-of-occurrence', {
    ...{ tenantId, scheduleId, occurrenceAtMs },
    lowId: messageIdFloor(occurrenceAtMs),
    rowsBefore: COVERING_ROWS,
    rowsAfter: LATER_ROWS,
  });
  return rows.map((row) => fromUuid(row.id));
}

function idBounds(due: DueBetween): { lowId: MessageId; highId: MessageId } {
  return {
    lowId: due.fromMs === null ? messageIdFloor(0) : messageIdFloor(due.fromMs),
    highId: due.toMs === null ? HIGHEST_ID : messageIdFloor(due.toMs + 1),
  };
}
