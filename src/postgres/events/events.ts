// Events of messages: there is no table of them, they are read out of the rows of messages and of failed attempts.

import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { MessageState } from '../../domain/message.js';
import type { AttemptRecord } from '../../domain/run.js';
import type { Queryable, Row } from '../database.js';
import { filterParams, isUnfiltered, type MessageFilter } from '../messages/message-filter.js';
import { messageRecord, type MessageRecord } from '../messages/message-reads.js';

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

export type MessageRefRow = Row<'select-marks-of-messages'>;

export type AttemptRefRow = Row<'select-attempt-marks'>;

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
  const asked = { ...filterParams(filter), tenantId, ids: messageIds };
  const messages = await table.run('select-marks-of-messages', asked);
  const ids = messages.map((row) => row.id);
  const attempts =
    ids.length === 0 || !wantsAttempts(states)
      ? []
      : await table.run('select-attempt-marks-of-messages', { messageIds: ids });
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
export function stretches({ fromMs, untilMs }: EventWindow, states: ReadonlySet<EventState>): Stretches {
  const untilOf = (...asked: EventState[]): number => (asked.some((state) => states.has(state)) ? untilMs : fromMs);
  return {
    ...{ createdFromMs: fromMs, startedFromMs: fromMs, endedFromMs: fromMs },
    createdUntilMs: untilOf('CREATED'),
    startedUntilMs: untilOf('ACTIVE'),
    endedUntilMs: untilOf('DELIVERED', 'FAILED', 'CANCELED'),
  };
}

type Stretches = Record<`${'created' | 'started' | 'ended'}${'From' | 'Until'}Ms`, number>;

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
): Promise<Row<'select-message-marks'>[]> {
  // What is attempted is due, so later weeks need no look; but it may be created or canceled long before it is due.
  const isDue = !states.has('CREATED') && !states.has('CANCELED');
  const highestId = isDue ? messageIdFloor(window.untilMs + DAY_MS) : HIGHEST_ID;
  return await table.run('select-message-marks', {
    ...filterParams(filter),
    ...stretches(window, states),
    tenantId,
    lowId: lowestDue(window, states),
    belowId: highestId,
    limit,
  });
}

async function attemptsOfWindow(
  table: Queryable,
  tenantId: number,
  window: EventWindow,
  limit: number,
): Promise<AttemptRefRow[]> {
  const { fromMs, untilMs } = window;
  const belowId = messageIdFloor(untilMs + DAY_MS);
  return await table.run('select-attempt-marks', { tenantId, fromMs, untilMs, belowId, limit });
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
  const rows = await table.run('select-matching', { ...filterParams(filter), tenantId, ids });
  return new Set(rows.map((row) => row.id));
}

export function attemptRecord(row: Row<'select-attempts'>): AttemptRecord {
  return { ...row, messageId: fromUuid(row.messageId) };
}

/** What an event says beyond its mark. */
export interface EventDetail extends EventRef {
  readonly message: MessageRecord;
  /** The outcome it tells of: of the failed attempt, or of the message's last one. */
  readonly outcome: Pick<AttemptRecord, 'status' | 'error' | 'headers' | 'body' | 'nextAttemptAtMs'> | null;
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
    table.run('select-event-messages', { messageIds: ids, maxBodyBytes }),
    pairs.length === 0
      ? []
      : table.run('select-attempts', {
          messageIds: pairs.map((ref) => ref.messageId),
          attempts: pairs.map((ref) => ref.attempt),
        }),
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
  row: Row<'select-event-messages'>,
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
