// Events of messages: there is no table of them, they are read out of the rows of messages and of failed attempts.

import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { HeaderMap, MessageState } from '../../domain/message.js';
import type { Queryable } from '../database.js';
import { timestamp } from '../messages/message-columns.js';
import { isUnfiltered, withFilter, type MessageFilter } from '../messages/message-filter.js';
import { messageRecord, type MessageRecord, type MessageRecordRow } from '../messages/message-reads.js';
import { sql } from '../sql.js';

export const EVENT_STATES = ['CREATED', 'ACTIVE', 'ERROR', 'RETRY', 'DELIVERED', 'FAILED', 'CANCELED'] as const;
export type EventState = (typeof EVENT_STATES)[number];

/** Where an event stands: by time, then message, then its place in the message's life. Unique, and the same for ever. */
export interface EventPlace {
  readonly atMs: number;
  readonly messageId: MessageId;
  readonly sequence: number;
}

export interface EventRef extends EventPlace {
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

const PLACES_PER_ATTEMPT = 4;
/** After all attempts, however many a message may have. */
const LAST_PLACE = 2 ** 30;

export interface MessageRefRow {
  readonly id: string;
  readonly state: MessageState;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly attempts: number;
}

export interface AttemptRefRow {
  readonly id: string;
  readonly attempt: number;
  readonly started_at: number;
  readonly finished_at: number;
  readonly retried: boolean;
}

const LAST_STATES: Partial<Record<MessageState, EventState>> = {
  delivered: 'DELIVERED',
  failed: 'FAILED',
  canceled: 'CANCELED',
};

/** The events of a message but for those of failed attempts. */
export function refsOfMessage(row: MessageRefRow): EventRef[] {
  const messageId = fromUuid(row.id);
  const refs: EventRef[] = [{ atMs: row.created_at, messageId, sequence: 0, state: 'CREATED', attempt: 0 }];
  const attempt = row.attempts;
  // An attempt that failed has a row of its own, which tells when it began.
  if (row.state === 'delivered' && row.started_at !== null) {
    const sequence = attempt * PLACES_PER_ATTEMPT;
    refs.push({ atMs: row.started_at, messageId, sequence, state: 'ACTIVE', attempt });
  }
  const last = LAST_STATES[row.state];
  if (last !== undefined && row.finished_at !== null) {
    refs.push({ atMs: row.finished_at, messageId, sequence: LAST_PLACE, state: last, attempt });
  }
  return refs;
}

export function refsOfAttempt(row: AttemptRefRow): EventRef[] {
  const of = { messageId: fromUuid(row.id), attempt: row.attempt };
  const first = row.attempt * PLACES_PER_ATTEMPT;
  const refs: EventRef[] = [
    { ...of, atMs: row.started_at, sequence: first, state: 'ACTIVE' },
    { ...of, atMs: row.finished_at, sequence: first + 1, state: 'ERROR' },
  ];
  if (row.retried) refs.push({ ...of, atMs: row.finished_at, sequence: first + 2, state: 'RETRY' });
  return refs;
}

const OF_ATTEMPTS: ReadonlySet<EventState> = new Set(['ACTIVE', 'ERROR', 'RETRY']);

export function wantsAttempts(states: ReadonlySet<EventState>): boolean {
  return [...states].some((state) => OF_ATTEMPTS.has(state));
}

/** All marks of some messages that the filter wants, unordered. */
export async function refsOfMessages(
  table: Queryable,
  tenantId: number,
  messageIds: readonly MessageId[],
  filter: MessageFilter,
  states: ReadonlySet<EventState>,
): Promise<EventRef[]> {
  const { text, values } = withFilter('select-marks-of-messages', [tenantId, messageIds], filter);
  const messages = await table.text<MessageRefRow>(text, values);
  const ids = messages.map((row) => row.id);
  const attempts =
    ids.length === 0 || !wantsAttempts(states)
      ? []
      : await table.run<AttemptRefRow>('select-attempt-marks-of-messages', [ids]);
  const refs = [...messages.flatMap(refsOfMessage), ...attempts.flatMap(refsOfAttempt)];
  return refs.filter((ref) => states.has(ref.state));
}

export interface EventWindow {
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
}

const DAY_MS = 86_400_000;
/** A misfired occurrence is created long after the nominal time in its id; the misfire window is 31 days at most. */
const CREATED_AFTER_DUE_MS = 32 * DAY_MS;
const LOWEST_ID = messageIdFloor(0);
const HIGHEST_ID = 'f'.repeat(32);

/**
 * The marks of a stretch of time, unordered, or `crowded` when there are `limit` rows or more: then the stretch must
 * be shorter.
 */
export async function refsOfWindow(
  table: Queryable,
  tenantId: number,
  window: EventWindow,
  filter: MessageFilter,
  states: ReadonlySet<EventState>,
  limit: number,
): Promise<EventRef[] | 'crowded'> {
  const messages = await messagesOfWindow(table, tenantId, window, filter, states, limit);
  if (messages.length >= limit) return 'crowded';
  const attempts = wantsAttempts(states) ? await attemptsOfWindow(table, tenantId, window, limit) : [];
  if (attempts.length >= limit) return 'crowded';
  const wanted = await wantedOf(table, tenantId, attempts, filter);
  const refs = [
    ...messages.filter((row) => row.matches).flatMap(refsOfMessage),
    ...attempts.filter((row) => wanted === null || wanted.has(row.id)).flatMap(refsOfAttempt),
  ];
  const { fromMs, untilMs } = window;
  return refs.filter((ref) => states.has(ref.state) && ref.atMs >= fromMs && ref.atMs < untilMs);
}

/** From when until when created, started and ended; equal times ask for none, where no such event is wanted. */
export function stretches({ fromMs, untilMs }: EventWindow, states: ReadonlySet<EventState>): string[] {
  const from = timestamp(fromMs);
  const until = timestamp(untilMs);
  const stretch = (...asked: EventState[]): string[] => [from, asked.some((s) => states.has(s)) ? until : from];
  return [...stretch('CREATED'), ...stretch('ACTIVE'), ...stretch('DELIVERED', 'FAILED', 'CANCELED')];
}

/** The lowest id of a message that may have wanted events: what is only created then is not due long before. */
export function lowestDue(window: EventWindow, states: ReadonlySet<EventState>): MessageId {
  const isNew = states.size === 1 && states.has('CREATED');
  return isNew ? messageIdFloor(window.fromMs - CREATED_AFTER_DUE_MS) : LOWEST_ID;
}

async function messagesOfWindow(
  table: Queryable,
  tenantId: number,
  window: EventWindow,
  filter: MessageFilter,
  states: ReadonlySet<EventState>,
  limit: number,
): Promise<(MessageRefRow & { matches: boolean })[]> {
  // What is attempted is due, so later weeks need no look; but it may be created or canceled long before it is due.
  const isDue = !states.has('CREATED') && !states.has('CANCELED');
  const highestId = isDue ? messageIdFloor(window.untilMs + DAY_MS) : HIGHEST_ID;
  const fixed = [tenantId, ...stretches(window, states), lowestDue(window, states), highestId, limit];
  const { text, values } = withFilter('select-message-marks', fixed, filter);
  return await table.text(text, values);
}

async function attemptsOfWindow(
  table: Queryable,
  tenantId: number,
  window: EventWindow,
  limit: number,
): Promise<AttemptRefRow[]> {
  const { fromMs, untilMs } = window;
  const values = [tenantId, timestamp(fromMs), timestamp(untilMs), messageIdFloor(untilMs + DAY_MS), limit];
  return await table.text(sql('select-attempt-marks'), values);
}

/** The messages of attempts that the filter wants, as they stand in the rows; null when it wants all. */
export async function wantedOf(
  table: Queryable,
  tenantId: number,
  attempts: readonly AttemptRefRow[],
  filter: MessageFilter,
): Promise<ReadonlySet<string> | null> {
  if (isUnfiltered(filter) || attempts.length === 0) return null;
  const ids = [...new Set(attempts.map((row) => row.id))];
  const { text, values } = withFilter('select-matching', [tenantId, ids], filter);
  return new Set((await table.text<{ id: string }>(text, values)).map((row) => row.id));
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
export interface EventDetail extends EventRef {
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
  refs: readonly EventRef[],
  maxBodyBytes: number,
): Promise<EventDetail[]> {
  if (refs.length === 0) return [];
  const failed = refs.filter((ref) => ref.state === 'ERROR' || ref.state === 'RETRY');
  const ids = [...new Set(refs.map((ref) => ref.messageId))];
  const pairs = [...new Map(failed.map((ref) => [attemptName(ref), ref])).values()];
  const [messageRows, attemptRows] = await Promise.all([
    table.run<EventMessageRow>('select-event-messages', [ids, maxBodyBytes]),
    pairs.length === 0
      ? []
      : table.run<AttemptRow>('select-attempts', [pairs.map((ref) => ref.messageId), pairs.map((ref) => ref.attempt)]),
  ]);
  const messages = new Map(messageRows.map((row) => [fromUuid(row.id), row]));
  const attempts = new Map(attemptRows.map(attemptRecord).map((record) => [attemptName(record), record]));
  return refs.flatMap((ref) => {
    const row = messages.get(ref.messageId);
    if (row === undefined) return [];
    return [{ ...ref, message: messageRecord(row), outcome: outcomeOf(ref, row, attempts) }];
  });
}

function outcomeOf(
  ref: EventRef,
  row: EventMessageRow,
  attempts: ReadonlyMap<string, AttemptRecord>,
): EventDetail['outcome'] {
  if (ref.state === 'ERROR' || ref.state === 'RETRY') return attempts.get(attemptName(ref)) ?? null;
  if (ref.state !== 'DELIVERED' && ref.state !== 'FAILED') return null;
  const { last_status: status, last_error: error, last_headers: headers, last_body: body } = row;
  return { status, error, headers, body, nextAttemptAtMs: null };
}

function attemptName(ref: { readonly messageId: MessageId; readonly attempt: number }): string {
  return `${ref.messageId}/${ref.attempt}`;
}
