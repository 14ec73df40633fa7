// Dead letters: messages that failed for good and are listed until somebody deletes or retries them.

import type { Clock } from '../../domain/clock.js';
import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { HeaderMap, Message } from '../../domain/message.js';
import type { StoredRequest } from '../../domain/shown-request.js';
import type { Database, Queryable, Row } from '../database.js';
import { messageColumns, pending } from './message-columns.js';
import { filterParams, type MessageFilter } from './message-filter.js';
import { ReadThroughput } from '../read-throughput.js';
import { messageRecord, storedRequest, type MessageRecord } from './message-reads.js';
import type { BoundedReads } from '../reads.js';

const DAY_MS = 86_400_000;

/** What is shown of a dead letter. */
export interface DeadLetterRecord extends MessageRecord {
  readonly idempotencyKey: string | null;
  /** Nominal time of an occurrence; null for any other. */
  readonly occurrenceAtMs: number | null;
  /** When it was given up. */
  readonly diedAtMs: number;
  readonly attempts: number;
  /** Null when the last attempt had no answer. */
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly lastHeaders: HeaderMap | null;
  readonly lastBody: Buffer | null;
}

/** A dead letter that can be sent again. */
export interface DeadLetter extends DeadLetterRecord {
  /** As it is delivered. */
  readonly undisclosed: StoredRequest & { readonly body: Buffer };
}

/** Where a dead letter stands in the list. */
export interface DeadLetterPlace {
  readonly diedAtMs: number;
  readonly id: MessageId;
}

export interface DeadLetterRef extends DeadLetterPlace {
  readonly bodyBytes: number;
}

export interface DeadLetterQuery {
  readonly filter: MessageFilter;
  /** When it was given up: inclusive, milliseconds since the epoch, null for no bound. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** The last one of the page before; null for the first page. */
  readonly after: DeadLetterPlace | null;
  readonly limit: number;
}

export interface DeadLetterPage {
  readonly refs: readonly DeadLetterRef[];
  /** After which the next page begins; null on the last one. A page may have fewer than asked for and still not be the last. */
  readonly next: DeadLetterPlace | null;
}

/** One page, the latest first. It ends where it is when the time is over. */
export async function pageDeadLetters(
  reads: BoundedReads,
  clock: Clock,
  tenantId: number,
  query: DeadLetterQuery,
): Promise<DeadLetterPage> {
  const { limit } = query;
  const throughput = new ReadThroughput(clock, limit + 1);
  const refs: DeadLetterRef[] = [];
  let after = query.after;
  for (;;) {
    const { stepRows } = throughput;
    const part = { ...query, after, limit: limit + 1 - refs.length };
    const step = await reads.step((table) => stepThrough(table, clock, tenantId, part, stepRows));
    if (step === null) {
      if (after === query.after) throw reads.tooSlow();
      return { refs, next: after };
    }
    refs.push(...step.refs);
    if (refs.length > limit) return { refs: refs.slice(0, limit), next: refs[limit - 1] ?? null };
    if (step.last === null || step.lookedAt < stepRows) return { refs, next: null };
    after = step.last;
    if (!throughput.goOn()) return { refs, next: after };
  }
}

interface Step {
  readonly refs: readonly DeadLetterRef[];
  readonly lookedAt: number;
  /** Null when there was none to look at. */
  readonly last: DeadLetterPlace | null;
}

async function stepThrough(
  table: Queryable,
  clock: Clock,
  tenantId: number,
  query: DeadLetterQuery,
  stepRows: number,
): Promise<Step> {
  const rows = await table.run('select-dead-letter-page', {
    ...filterParams(query.filter),
    tenantId,
    // Nothing dies before it is due, so what is due later is not there. A day is more than clocks differ.
    beyondId: messageIdFloor(clock.nowMs() + DAY_MS),
    diedFromMs: query.fromMs,
    diedToMs: query.toMs,
    afterMs: query.after?.diedAtMs ?? null,
    afterId: query.after?.id ?? null,
    stepRows,
    limit: query.limit,
  });
  const refs = rows.map((row) => ({ id: fromUuid(row.id), diedAtMs: row.finished_at, bodyBytes: row.body_bytes }));
  return { refs: refs.slice(0, -1), lookedAt: rows.at(-1)?.looked_at ?? 0, last: refs.at(-1) ?? null };
}

/** The dead letters with these ids, in the order asked for; those that are gone (or another tenant's) are left out. */
export async function getDeadLetters(
  table: Queryable,
  tenantId: number,
  ids: readonly MessageId[],
): Promise<DeadLetter[]> {
  if (ids.length === 0) return [];
  const rows = await table.run('select-dead-letters', { tenantId, ids });
  const byId = new Map(rows.map((row) => [fromUuid(row.id), row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    return row === undefined ? [] : [deadLetter(row)];
  });
}

function deadLetter(row: Row<'select-dead-letters'>): DeadLetter {
  return {
    ...messageRecord(row),
    undisclosed: { ...storedRequest(row), body: row.body },
    idempotencyKey: row.idempotency_key,
    occurrenceAtMs: row.occurrence_at,
    diedAtMs: row.finished_at ?? row.due_at,
    attempts: row.attempts,
    lastStatus: row.last_status,
    lastError: row.last_error,
    lastHeaders: row.last_headers,
    lastBody: row.last_body,
  };
}

/** Takes dead letters off the list. Gives those that were on it; the rows stay as the record of what happened. */
export async function dropDeadLetters(
  table: Queryable,
  tenantId: number,
  ids: readonly MessageId[],
): Promise<MessageId[]> {
  if (ids.length === 0) return [];
  const rows = await table.run('take-dead-letters', { tenantId, ids });
  return rows.map((row) => fromUuid(row.id));
}

/** A dead letter and the message that repeats it. */
export interface Repeat {
  readonly from: MessageId;
  readonly message: Message;
}

/** Takes dead letters off the list and records the messages that repeat them. Gives those that were on it. */
export async function repeatDeadLetters(
  database: Database,
  tenantId: number,
  repeats: readonly Repeat[],
): Promise<Repeat[]> {
  if (repeats.length === 0) return [];
  return database.transaction(async (connection) => {
    const taken = new Set(
      await dropDeadLetters(
        connection,
        tenantId,
        repeats.map(({ from }) => from),
      ),
    );
    const due = repeats.filter(({ from }) => taken.has(from));
    if (due.length === 0) return due;
    await connection.run('insert-messages', messageColumns(due.map(({ message }) => pending(message))));
    const keyed = due.flatMap(({ from, message }) =>
      message.idempotencyKey === null ? [] : [{ from, message, key: message.idempotencyKey }],
    );
    // The work is the same, so its key names the new message from now on.
    await connection.run('repoint-keys', {
      tenantIds: keyed.map(({ message }) => message.tenantId),
      keys: keyed.map(({ key }) => key),
      fromIds: keyed.map(({ from }) => from),
      toIds: keyed.map(({ message }) => message.id),
    });
    return due;
  });
}
