// What the statements do that insert, read, cancel and end messages (src/postgres/messages/*.sql), by the statements' names.

import type { DispatchRow } from '../../src/postgres/messages/message-columns.js';
import { messageLocks, type Statement, type Values } from './statement.js';
import { SqlError } from './table-transactions.js';
import { type AttemptRow, type MessageRow, picked, rowsOf, timeOf, timeOrNull, type View } from './tables.js';

const UNCONFIRMED = 'canceled by the client, without confirmation from Redis';

/** The parameters of insert-new-messages.sql, in their order. */
const INSERTED = [
  ...(['id', 'tenant_id', 'shard', 'kind', 'state', 'reason', 'held', 'schedule_id', 'occurrence_at'] as const),
  ...(['covers_until', 'overlap', 'idempotency_key', 'source_id', 'due_at', 'created_at', 'destination'] as const),
  ...(['method', 'headers', 'body', 'max_retries', 'timeout_ms', 'labels', 'options'] as const),
];

const OUTCOME = [
  ...(['id', 'state', 'attempt', 'status', 'error', 'headers', 'body', 'started_at', 'ended_at'] as const),
  ...(['next_attempt_at', 'node'] as const),
];

const ATTEMPT = [
  ...(['message_id', 'attempt', 'tenant_id', 'started_at', 'finished_at', 'status', 'error', 'headers'] as const),
  ...(['body', 'next_attempt_at', 'node'] as const),
];

export function messageStatements(tenants: ReadonlySet<number>, nowMs: () => number): Record<string, Statement> {
  const insert = (view: View, values: Values, onKnown: 'refuse' | 'leave'): object[] =>
    rowsOf(values, INSERTED).flatMap((given) => {
      const row = insertedRow(given, tenants);
      if (view.get('messages', row.id) === undefined) {
        view.put('messages', row.id, row);
        return [{ id: row.id }];
      }
      if (onKnown === 'refuse') throw new SqlError('23505', 'duplicate key value violates unique constraint');
      return [];
    });
  return {
    'insert-new-messages': {
      run: (view, values) => (insert(view, values, 'refuse'), []),
      locks: (_view, [ids]) => messageLocks(ids),
    },
    'insert-messages': {
      run: (view, values) => insert(view, values, 'leave'),
      locks: (_view, [ids]) => messageLocks(ids),
    },
    'cancel-messages': {
      run: (view, [tenantId, ids, now]) =>
        changed(view, ids, isOf(tenantId, isPending), (row) => ({
          ...row,
          state: 'canceled',
          reason: UNCONFIRMED,
          finished_at: timeOf(now),
          held: false,
          finished: row.finished + 1,
        })).map(asCanceled),
      locks: (_view, [, ids]) => messageLocks(ids),
    },
    'select-unconfirmed-cancels': {
      run: (view, [tenantId, ids]) => found(view, ids).filter(isOf(tenantId, isUnconfirmed)).map(asCanceled),
    },
    'confirm-cancels': {
      run: (view, [tenantId, ids]) =>
        changed(view, ids, isOf(tenantId, isUnconfirmed), (row) => ({ ...row, reason: 'canceled by the client' })).map(
          ({ id }) => ({ id }),
        ),
      locks: (_view, [, ids]) => messageLocks(ids),
    },
    'give-up-message': {
      run: (view, [id, why, now]) =>
        changed(view, [id], isPending, (row) => ({
          ...row,
          ...{ state: 'failed', in_dlq: true, held: false, last_status: null, last_error: why as string },
          ...{ last_headers: null, last_body: null, finished_at: timeOf(now) },
          ...{ finished: row.finished + 1, endedAtMs: Math.min(row.endedAtMs, nowMs()) },
        })).map((row) => picked(row, ['id', 'tenant_id', 'overlap', 'schedule_id', 'idempotency_key'])),
      locks: (_view, [id]) => messageLocks([id]),
    },
    'select-dispatch': { run: (view, [ids]) => found(view, ids).map(asDispatched) },
    'record-outcomes': {
      run: (view, values) => rowsOf(values, OUTCOME).flatMap((outcome) => record(view, outcome, nowMs())),
      locks: (_view, [ids]) => messageLocks(ids),
    },
    'insert-attempts': {
      run: (view, values) => {
        for (const given of rowsOf(values, ATTEMPT)) {
          const key = `${String(given.message_id)} ${String(given.attempt)}`;
          if (view.get('attempts', key) === undefined) view.put('attempts', key, attemptRow(given));
        }
        return [];
      },
    },
    ...sweepStatements,
  };
}

const sweepStatements: Record<string, Statement> = {
  'select-messages-to-promote': {
    run: (view, [shard, fromId, untilId, horizon, limit]) =>
      pendingOf(view, shard)
        .filter(({ id }) => id >= (fromId as string) && id < (untilId as string))
        .filter(({ held, next_attempt_at }) => !held && next_attempt_at < timeOf(horizon))
        .slice(0, limit as number)
        .map((row) => picked(row, ['id', 'next_attempt_at'])),
  },
  'select-messages-to-rescue': {
    run: (view, [shard, afterId, untilId, overdue, createdBefore, limit, occurrencesBefore]) =>
      pendingOf(view, shard)
        .filter(({ id }) => id > (afterId as string) && id < (untilId as string))
        .filter(({ next_attempt_at }) => next_attempt_at <= timeOf(overdue))
        .filter(
          ({ kind, created_at }) =>
            created_at <= timeOf(createdBefore) || (kind === 'occurrence' && created_at < timeOf(occurrencesBefore)),
        )
        .slice(0, limit as number)
        .map((row) => picked(row, ['id', 'next_attempt_at', 'held', 'tenant_id', 'schedule_id'])),
  },
  'release-held': {
    run: (view, values) =>
      changed(view, waitingFirst(view, values), isPending, (row) => ({ ...row, held: false })).map((row) =>
        picked(row, ['tenant_id', 'schedule_id', 'id', 'shard', 'due_at']),
      ),
    locks: (view, values) => messageLocks(waitingFirst(view, values)),
  },
  'select-under-way': {
    run: (view, [tenants, ids, untilId]) =>
      rowsOf([tenants, ids], ['tenant_id', 'id']).flatMap(({ tenant_id, id }) => {
        const rows = limitedOf(view, tenant_id, id, untilId);
        return rows.length === 0 ? [] : [{ tenant_id, id, waiting: rows.filter(({ held }) => held).length }];
      }),
  },
};

/** The held occurrences that go before all others of their schedules, where none is under way. */
function waitingFirst(view: View, [tenants, ids, untilId]: Values): string[] {
  return rowsOf([tenants, ids], ['tenant_id', 'id']).flatMap(({ tenant_id, id }) => {
    const [first] = limitedOf(view, tenant_id, id, untilId).sort(
      (a, b) => Number(a.held) - Number(b.held) || (a.id < b.id ? -1 : 1),
    );
    return first?.held === true ? [first.id] : [];
  });
}

/** Pending occurrences of a schedule that are under an overlap policy. */
function limitedOf(view: View, tenantId: unknown, scheduleId: unknown, untilId: unknown): MessageRow[] {
  return view
    .all('messages')
    .filter(({ tenant_id, schedule_id }) => tenant_id === tenantId && schedule_id === scheduleId)
    .filter(({ state, overlap, id }) => state === 'pending' && overlap !== null && id < (untilId as string));
}

function pendingOf(view: View, shard: unknown): MessageRow[] {
  return view
    .all('messages')
    .filter((row) => row.shard === shard && row.state === 'pending')
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

function found(view: View, ids: unknown): MessageRow[] {
  return [...new Set(ids as string[])].flatMap((id) => view.get('messages', id) ?? []);
}

/** Changes those of some messages that are wanted, and returns them as they are then. */
function changed(
  view: View,
  ids: unknown,
  isWanted: (row: MessageRow) => boolean,
  change: (row: MessageRow) => MessageRow,
): MessageRow[] {
  return found(view, ids)
    .filter(isWanted)
    .map((row) => {
      const after = change(row);
      view.put('messages', row.id, after);
      return after;
    });
}

function isPending({ state }: MessageRow): boolean {
  return state === 'pending';
}

function isUnconfirmed({ state, reason }: MessageRow): boolean {
  return state === 'canceled' && reason === UNCONFIRMED;
}

function isOf(tenantId: unknown, isWanted: (row: MessageRow) => boolean): (row: MessageRow) => boolean {
  return (row) => row.tenant_id === tenantId && isWanted(row);
}

function asCanceled(row: MessageRow): object {
  const columns = picked(row, [
    ...(['id', 'shard', 'overlap', 'schedule_id', 'idempotency_key', 'attempts', 'due_at'] as const),
    ...(['next_attempt_at', 'created_at'] as const),
  ]);
  return { ...columns, body_bytes: row.body.length };
}

function asDispatched(row: MessageRow): DispatchRow {
  return picked(row, [
    ...(['id', 'tenant_id', 'shard', 'kind', 'state', 'held', 'schedule_id', 'occurrence_at', 'overlap'] as const),
    ...([
      'idempotency_key',
      'source_id',
      'due_at',
      'next_attempt_at',
      'created_at',
      'attempts',
      'destination',
    ] as const),
    ...(['method', 'headers', 'body', 'max_retries', 'timeout_ms', 'labels', 'options'] as const),
  ]);
}

function json(value: unknown): unknown {
  return value === null ? null : JSON.parse(value as string);
}

const PLAIN = [
  ...(['id', 'tenant_id', 'shard', 'kind', 'state', 'held', 'schedule_id', 'overlap', 'idempotency_key'] as const),
  ...(['source_id', 'destination', 'method', 'body', 'max_retries', 'timeout_ms'] as const),
];

const PLAIN_OF_ATTEMPT = ['message_id', 'attempt', 'tenant_id', 'status', 'error', 'body', 'node'] as const;

/** What a statement refuses because of a column that may not be null. */
class MissingTenant extends SqlError {
  readonly column = 'tenant_id';
}

function insertedRow(given: Record<(typeof INSERTED)[number], unknown>, tenants: ReadonlySet<number>): MessageRow {
  if (!tenants.has(given.tenant_id as number)) throw new MissingTenant('23502', 'null value in column "tenant_id"');
  const createdAtMs = timeOf(given.created_at);
  return {
    ...(picked(given, PLAIN) as Pick<DispatchRow, (typeof PLAIN)[number]>),
    reason: given.reason as string | null,
    occurrence_at: timeOrNull(given.occurrence_at),
    covers_until: timeOrNull(given.covers_until),
    due_at: timeOf(given.due_at),
    next_attempt_at: timeOf(given.due_at),
    created_at: createdAtMs,
    started_at: null,
    finished_at: given.state === 'skipped' ? createdAtMs : null,
    attempts: 0,
    in_dlq: false,
    ...{ last_status: null, last_error: null, last_headers: null, last_body: null, node: null },
    headers: json(given.headers) as DispatchRow['headers'],
    labels: json(given.labels) as DispatchRow['labels'],
    options: json(given.options) as DispatchRow['options'],
    finished: given.state === 'skipped' ? 1 : 0,
    endedAtMs: given.state === 'skipped' ? 0 : Infinity,
  };
}

function attemptRow(given: Record<(typeof ATTEMPT)[number], unknown>): AttemptRow {
  return {
    ...(picked(given, PLAIN_OF_ATTEMPT) as Pick<AttemptRow, (typeof PLAIN_OF_ATTEMPT)[number]>),
    started_at: timeOf(given.started_at),
    finished_at: timeOf(given.finished_at),
    headers: json(given.headers),
    next_attempt_at: timeOrNull(given.next_attempt_at),
  };
}

/** record-outcomes.sql. */
function record(view: View, outcome: Record<(typeof OUTCOME)[number], unknown>, nowMs: number): object[] {
  const row = view.get('messages', outcome.id as string);
  const state = outcome.state as string;
  const taking = state === 'delivered' ? ['pending', 'failed', 'canceled'] : ['pending'];
  if (row === undefined || !taking.includes(row.state)) return [];
  // That a call succeeded is a fact, and corrects a row that another node gave up meanwhile: no second end.
  const isSecondEnd = row.state !== 'pending';
  view.put('messages', row.id, {
    ...row,
    state,
    attempts: Math.max(row.attempts, outcome.attempt as number),
    last_status: outcome.status as number | null,
    last_error: outcome.error as string | null,
    last_headers: json(outcome.headers),
    last_body: outcome.body as Buffer | null,
    started_at: timeOf(outcome.started_at),
    finished_at: state === 'pending' ? null : timeOf(outcome.ended_at),
    next_attempt_at: timeOrNull(outcome.next_attempt_at) ?? row.next_attempt_at,
    in_dlq: state === 'failed',
    reason: state === 'pending' ? row.reason : correction(row),
    node: outcome.node as string,
    finished: row.finished + (state === 'pending' || isSecondEnd ? 0 : 1),
    endedAtMs: state === 'pending' ? row.endedAtMs : Math.min(row.endedAtMs, nowMs),
  });
  return [{ id: row.id }];
}

/** What is left of the end that a success corrects. */
function correction(row: MessageRow): string | null {
  const at = new Date(row.finished_at ?? 0).toISOString();
  if (isUnconfirmed(row)) return `canceled at ${at} without confirmation from Redis, and sent nevertheless`;
  if (row.state === 'canceled') return `canceled at ${at}, but a call that had begun before was answered`;
  if (row.state === 'failed') return `given up at ${at}, but a call that had begun before was answered`;
  return null;
}
