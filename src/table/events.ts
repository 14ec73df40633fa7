// Events of messages: there is no table of them, they are read out of the rows of messages and of failed attempts.

import { fromUuid, messageIdFloor, type MessageId } from '../domain/ids.js';
import type { HeaderMap, MessageState } from '../domain/message.js';
import type { Queryable } from './database.js';
import { timestamp } from './message-columns.js';
import { withFilter, type MessageFilter } from './message-filter.js';
import { messageRecord, type MessageRecord, type MessageRecordRow } from './message-reads.js';

export const EVENT_STATES = ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'DELIVERED', 'FAILED', 'CANCELED'] as const;
export type EventState = (typeof EVENT_STATES)[number];

/** Where an event stands: by time, then message, then its place in the message's life. Unique, and the same for ever. */
export interface EventPlace {
  readonly atMs: number;
  readonly messageId: MessageId;
  readonly sequence: number;
}

export interface EventMark extends EventPlace {
  readonly state: EventState;
  /** The attempt it belongs to, from 1; 0 where it belongs to none. */
  readonly attempt: number;
}

/** Negative when `a` is before `b`. */
export function comparePlaces(a: EventPlace, b: EventPlace): number {
  if (a.atMs !== b.atMs) return a.atMs - b.atMs;
  if (a.messageId !== b.messageId) return a.messageId < b.messageId ? -1 : 1;
  return a.sequence - b.sequence;
}

type MarkKind = 'created' | 'started' | 'failed' | 'ended';

/** Which marks tell of which states. */
const KIND_OF_STATE: Record<EventState, MarkKind> = {
  CREATED: 'created',
  ACTIVE: 'started',
  ERROR: 'failed',
  RETRY: 'failed',
  DELIVERED: 'ended',
  FAILED: 'ended',
  CANCELED: 'ended',
};

interface MarkRow {
  readonly kind: MarkKind;
  readonly id: string;
  readonly at: number;
  readonly attempt: number;
  readonly state: MessageState;
  readonly retried: boolean;
  /** Absent where the statement gives matching rows only. */
  readonly matches?: boolean;
}

const PLACES_PER_ATTEMPT = 4;
/** After all attempts, however many a message may have. */
const LAST_PLACE = 2 ** 30;

function marksOf(row: MarkRow): EventMark[] {
  const messageId = fromUuid(row.id);
  const mark = (state: EventState, sequence: number): EventMark => ({
    atMs: row.at,
    messageId,
    sequence,
    state,
    attempt: row.attempt,
  });
  const first = row.attempt * PLACES_PER_ATTEMPT;
  switch (row.kind) {
    case 'created':
      return [mark('CREATED', 0)];
    case 'started':
      return [mark('ACTIVE', first)];
    case 'failed':
      return row.retried ? [mark('ERROR', first + 1), mark('RETRY', first + 2)] : [mark('ERROR', first + 1)];
    case 'ended':
      if (row.state === 'delivered') return [mark('DELIVERED', LAST_PLACE)];
      return [mark(row.state === 'failed' ? 'FAILED' : 'CANCELED', LAST_PLACE)];
  }
}

/** All marks of some messages that the filter wants, unordered. */
export async function marksOfMessages(
  table: Queryable,
  tenantId: number,
  messageIds: readonly MessageId[],
  filter: MessageFilter,
  states: ReadonlySet<EventState>,
): Promise<EventMark[]> {
  const { text, values } = withFilter('select-event-marks', [tenantId, messageIds], filter);
  const rows = await table.text<MarkRow>(text, values);
  return rows.flatMap(marksOf).filter((mark) => states.has(mark.state));
}

export interface EventWindow {
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
}

const DAY_MS = 86_400_000;
/** A misfired occurrence is created long after the nominal time in its id; the misfire window is 31 days at most. */
const CREATED_AFTER_DUE_MS = 32 * DAY_MS;

/**
 * The marks of a stretch of time, unordered, or `crowded` when one kind has `limit` rows or more: then the stretch must be
 * shorter. With `limit` null everything is given.
 */
export async function marksOfWindow(
  table: Queryable,
  tenantId: number,
  window: EventWindow,
  filter: MessageFilter,
  states: ReadonlySet<EventState>,
  limit: number | null,
): Promise<EventMark[] | 'crowded'> {
  const kinds = new Set([...states].map((state) => KIND_OF_STATE[state]));
  const fixed = [
    tenantId,
    timestamp(window.fromMs),
    timestamp(window.untilMs),
    messageIdFloor(window.fromMs - CREATED_AFTER_DUE_MS),
    messageIdFloor(window.untilMs + DAY_MS),
    limit,
    [...kinds],
  ];
  const { text, values } = withFilter('select-event-window', fixed, filter);
  const rows = await table.text<MarkRow>(text, values);
  if (limit !== null && isCrowded(rows, limit)) return 'crowded';
  return rows
    .filter((row) => row.matches === true)
    .flatMap(marksOf)
    .filter((mark) => states.has(mark.state));
}

/** Each kind is cut at the limit by itself, but "started" comes from two tables. */
function isCrowded(rows: readonly MarkRow[], limit: number): boolean {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const source = row.kind === 'started' && row.state === 'failed' ? 'started (failed)' : row.kind;
    counts.set(source, (counts.get(source) ?? 0) + 1);
  }
  return [...counts.values()].some((count) => count >= limit);
}

/** What an attempt came to, as readers see it. */
export interface AttemptRecord {
  readonly messageId: MessageId;
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly headers: HeaderMap | null;
  readonly body: Buffer | null;
  readonly nextAttemptAtMs: number | null;
  readonly node: string | null;
}

export interface AttemptRow {
  readonly message_id: string;
  readonly attempt: number;
  readonly started_at: number;
  readonly finished_at: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly headers: HeaderMap | null;
  readonly body: Buffer | null;
  readonly next_attempt_at: number | null;
  readonly node: string | null;
}

export function attemptRecord(row: AttemptRow): AttemptRecord {
  return {
    messageId: fromUuid(row.message_id),
    attempt: row.attempt,
    startedAtMs: row.started_at,
    endedAtMs: row.finished_at,
    status: row.status,
    error: row.error,
    headers: row.headers,
    body: row.body,
    nextAttemptAtMs: row.next_attempt_at,
    node: row.node,
  };
}

/** What an event says beyond its mark. */
export interface EventDetail extends EventMark {
  readonly message: MessageRecord;
  /** The outcome it tells of: of the failed attempt, or of the message's last one. */
  readonly outcome: Pick<AttemptRecord, 'status' | 'error' | 'headers' | 'body' | 'nextAttemptAtMs'> | null;
}

interface EventMessageRow extends MessageRecordRow {
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly last_headers: HeaderMap | null;
  readonly last_body: Buffer | null;
}

/** Adds to marks what their events say, in the same order. Message bodies longer than `maxBodyBytes` are left out. */
export async function eventDetails(
  table: Queryable,
  marks: readonly EventMark[],
  maxBodyBytes: number,
): Promise<EventDetail[]> {
  if (marks.length === 0) return [];
  const failed = marks.filter((mark) => mark.state === 'ERROR' || mark.state === 'RETRY');
  const ids = [...new Set(marks.map((mark) => mark.messageId))];
  const pairs = [...new Map(failed.map((mark) => [attemptName(mark), mark])).values()];
  const [messageRows, attemptRows] = await Promise.all([
    table.run<EventMessageRow>('select-event-messages', [ids, maxBodyBytes]),
    pairs.length === 0
      ? []
      : table.run<AttemptRow>('select-attempts', [
          pairs.map((mark) => mark.messageId),
          pairs.map((mark) => mark.attempt),
        ]),
  ]);
  const messages = new Map(messageRows.map((row) => [fromUuid(row.id), row]));
  const attempts = new Map(attemptRows.map(attemptRecord).map((record) => [attemptName(record), record]));
  return marks.flatMap((mark) => {
    const row = messages.get(mark.messageId);
    if (row === undefined) return [];
    return [{ ...mark, message: messageRecord(row), outcome: outcomeOf(mark, row, attempts) }];
  });
}

function outcomeOf(
  mark: EventMark,
  row: EventMessageRow,
  attempts: ReadonlyMap<string, AttemptRecord>,
): EventDetail['outcome'] {
  if (mark.state === 'ERROR' || mark.state === 'RETRY') return attempts.get(attemptName(mark)) ?? null;
  if (mark.state !== 'DELIVERED' && mark.state !== 'FAILED') return null;
  const { last_status: status, last_error: error, last_headers: headers, last_body: body } = row;
  return { status, error, headers, body, nextAttemptAtMs: null };
}

function attemptName(mark: { readonly messageId: MessageId; readonly attempt: number }): string {
  return `${mark.messageId}/${mark.attempt}`;
}
