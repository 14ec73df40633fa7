// Recording what attempts came to, in groups: the message's row, a row for each failed attempt, callbacks, keys, held occurrences.

import { fromUuid, messageIdFloor, type MessageId } from '../../domain/ids.js';
import type { HeaderMap, Message, MessageState } from '../../domain/message.js';
import type { Database, Params, Queryable } from '../database.js';
import { messageColumns, type NewMessage, pending } from './message-columns.js';

/** What one attempt came to. */
export interface Outcome {
  readonly message: Message;
  /** `pending`: another attempt follows at `nextAttemptAtMs`. */
  readonly state: Extract<MessageState, 'pending' | 'delivered' | 'failed'>;
  /** From 1. */
  readonly attempt: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly headers: HeaderMap | null;
  /** The first bytes of the answer. */
  readonly body: Buffer | null;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly nextAttemptAtMs: number | null;
  /** Callback messages, born with this outcome. */
  readonly callbacks: readonly Message[];
  /** Callback messages that are recorded and not sent, each with its reason. */
  readonly refusedCallbacks?: readonly NewMessage[];
  readonly node: string;
}

/** A held occurrence that may go now. */
export interface Released {
  readonly id: MessageId;
  readonly shard: number;
  readonly dueAtMs: number;
}

export interface Recorded {
  /** False when the row was final already, so that nothing more is to be done. */
  readonly taken: boolean;
  readonly released: readonly Released[];
}

export interface OutcomeSettings {
  /** How long an idempotency key is kept after its message ended, in milliseconds. */
  readonly idempotencyMs: number;
}

/**
 * What is left of an outcome that PostgreSQL refuses: what it comes to, without what came back. A delivery whose outcome can never be
 * recorded would be made for ever.
 */
export function bareOutcome(outcome: Outcome): Outcome {
  return {
    ...outcome,
    headers: null,
    body: null,
    callbacks: [],
    refusedCallbacks: [],
    error: 'what came back could not be recorded',
  };
}

/**
 * Writes one group: a single statement when all is plain success, one transaction otherwise. Rows are given in the order of
 * the ids, as a cancel takes them, so that two nodes that record the same messages seldom wait for each other in a ring.
 */
export async function recordOutcomes(
  database: Database,
  settings: OutcomeSettings,
  outcomes: readonly Outcome[],
): Promise<Recorded[]> {
  const ordered = [...outcomes].sort((a, b) => (a.message.id < b.message.id ? -1 : 1));
  const plain = outcomes.every(isPlain);
  const taken = plain
    ? await updateMessages(database, ordered)
    : await database.transaction((connection) => recordAll(connection, settings, ordered));
  const released = await releaseAfter(database, outcomes);
  return outcomes.map((outcome) => ({
    taken: taken.has(outcome.message.id),
    released: released.get(scheduleName(outcome.message)) ?? [],
  }));
}

function isPlain(outcome: Outcome): boolean {
  const { state, callbacks, refusedCallbacks = [], message } = outcome;
  return state === 'delivered' && callbacks.length + refusedCallbacks.length === 0 && message.idempotencyKey === null;
}

async function recordAll(
  connection: Queryable,
  settings: OutcomeSettings,
  outcomes: readonly Outcome[],
): Promise<Set<MessageId>> {
  const taken = await updateMessages(connection, outcomes);
  const failures = outcomes.filter((outcome) => outcome.state !== 'delivered');
  if (failures.length > 0) await connection.run('insert-attempts', attemptColumns(failures));
  const callbacks = outcomes
    .filter(({ message }) => taken.has(message.id))
    .flatMap((outcome) => [...outcome.callbacks.map(pending), ...(outcome.refusedCallbacks ?? [])]);
  if (callbacks.length > 0) await connection.run('insert-messages', messageColumns(callbacks));
  const ended = outcomes.filter((outcome) => outcome.state !== 'pending' && taken.has(outcome.message.id));
  await expireKeys(
    connection,
    ended.map((outcome) => ({ message: outcome.message, atMs: outcome.endedAtMs + settings.idempotencyMs })),
  );
  return taken;
}

async function updateMessages(connection: Queryable, outcomes: readonly Outcome[]): Promise<Set<MessageId>> {
  const column = <Value>(value: (outcome: Outcome) => Value): Value[] => outcomes.map(value);
  const rows = await connection.run('record-outcomes', {
    ids: column((outcome) => outcome.message.id),
    states: column((outcome) => outcome.state),
    attempts: column((outcome) => outcome.attempt),
    statuses: column((outcome) => outcome.status),
    errors: column((outcome) => (outcome.error === null ? null : storableText(outcome.error))),
    headers: column((outcome) => storableHeaders(outcome.headers)),
    bodies: column((outcome) => outcome.body),
    startedAtMs: column((outcome) => outcome.startedAtMs),
    endedAtMs: column((outcome) => outcome.endedAtMs),
    nextAttemptAtMs: column((outcome) => outcome.nextAttemptAtMs),
    nodes: column((outcome) => outcome.node),
  });
  return new Set(rows.map((row) => fromUuid(row.id)));
}

/** PostgreSQL's text has no NUL and no half surrogates: a replacement character stands for each. */
export function storableText(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, '\ufffd');
}

function storableHeaders(headers: HeaderMap | null): string | null {
  if (headers === null) return null;
  const json = JSON.stringify(headers);
  if (!/\\u(?:0000|d[89a-f])/.test(json)) return json;
  return JSON.stringify(
    Object.fromEntries(Object.entries(headers).map(([name, values]) => [storableText(name), values.map(storableText)])),
  );
}

function attemptColumns(failures: readonly Outcome[]): Params<'insert-attempts'> {
  const column = <Value>(value: (outcome: Outcome) => Value): Value[] => failures.map(value);
  return {
    messageIds: column((outcome) => outcome.message.id),
    attempts: column((outcome) => outcome.attempt),
    tenantIds: column((outcome) => outcome.message.tenantId),
    startedAtMs: column((outcome) => outcome.startedAtMs),
    finishedAtMs: column((outcome) => outcome.endedAtMs),
    statuses: column((outcome) => outcome.status),
    errors: column((outcome) => (outcome.error === null ? null : storableText(outcome.error))),
    headers: column((outcome) => storableHeaders(outcome.headers)),
    bodies: column((outcome) => outcome.body),
    nextAttemptAtMs: column((outcome) => outcome.nextAttemptAtMs),
    nodes: column((outcome) => outcome.node),
  };
}

/** Starts the clock of the keys of messages that ended: at `atMs` each may be used again. */
export async function expireKeys(
  connection: Queryable,
  ended: readonly { message: Pick<Message, 'id' | 'tenantId' | 'idempotencyKey'>; atMs: number }[],
): Promise<void> {
  const keyed = ended.flatMap(({ message, atMs }) =>
    message.idempotencyKey === null ? [] : [{ message, key: message.idempotencyKey, atMs }],
  );
  if (keyed.length === 0) return;
  await connection.run('expire-keys', {
    tenantIds: keyed.map(({ message }) => message.tenantId),
    keys: keyed.map(({ key }) => key),
    messageIds: keyed.map(({ message }) => message.id),
    expiresAtMs: keyed.map(({ atMs }) => atMs),
  });
}

/**
 * Lets the occurrences go that waited for these outcomes, by schedule. What waits was fired under the overlap policy "queue", whatever
 * the policy was when its predecessor was.
 */
async function releaseAfter(connection: Queryable, outcomes: readonly Outcome[]): Promise<Map<string, Released[]>> {
  const schedules = new Map<string, OfSchedule>();
  for (const { message, state } of outcomes) {
    const { tenantId, scheduleId, overlap } = message;
    if (state === 'pending' || overlap === null || scheduleId === null) continue;
    schedules.set(scheduleName(message), { tenantId, scheduleId });
  }
  const result = new Map<string, Released[]>();
  const times = outcomes.flatMap(({ message, endedAtMs }) => [message.dueAtMs, endedAtMs]);
  for (const released of await releaseHeld(connection, [...schedules.values()], lookUntil(0, times))) {
    const name = scheduleName(released);
    result.set(name, [...(result.get(name) ?? []), released]);
  }
  return result;
}

const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * An id beyond which no occurrences are looked for: a week after both the present and what is known to be due. What waits and is due
 * later still is let go by the rescue sweep, when it is due.
 */
export function lookUntil(nowMs: number, dueTimesMs: Iterable<number> = []): MessageId {
  let untilMs = nowMs;
  for (const dueAtMs of dueTimesMs) untilMs = Math.max(untilMs, dueAtMs);
  return messageIdFloor(untilMs + WEEK_MS);
}

/**
 * Lets the next held occurrence of each schedule go, unless one is under way; neither is looked for from `untilId` (`lookUntil`) on. What
 * is held must be committed.
 */
export async function releaseHeld(
  connection: Queryable,
  schedules: readonly OfSchedule[],
  untilId: MessageId,
): Promise<(Released & OfSchedule)[]> {
  if (schedules.length === 0) return [];
  const rows = await connection.run('release-held', {
    tenantIds: schedules.map(({ tenantId }) => tenantId),
    scheduleIds: schedules.map(({ scheduleId }) => scheduleId),
    untilId,
  });
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    scheduleId: row.schedule_id,
    id: fromUuid(row.id),
    shard: row.shard,
    dueAtMs: row.due_at,
  }));
}

interface OfSchedule {
  readonly tenantId: number;
  readonly scheduleId: string;
}

function scheduleName(of: Pick<Message, 'tenantId' | 'scheduleId'>): string {
  return `${of.tenantId}\n${of.scheduleId ?? ''}`;
}
