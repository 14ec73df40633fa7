// What the statements do that insert, read, cancel and end messages (src/postgres/messages/*.sql), by the statements'
// names.

import type { Params, Row } from '../../src/postgres/database.js';
import { messageLocks, type StatementModels } from './statement.js';
import { SqlError } from './postgres-transactions.js';
import { type AttemptRow, type MessageRow, picked, rowsOf, timeOf, timeOrNull, type View } from './tables.js';

const UNCONFIRMED = 'canceled by the client, without confirmation from Redis';

export function messageStatements(tenants: ReadonlySet<number>, nowMs: () => number): StatementModels {
  return {
    'insert-new-messages': {
      run: (view, given) => {
        for (const row of insertedRows(given, tenants)) {
          if (view.get('messages', row.id) !== undefined) {
            throw new SqlError('23505', 'duplicate key value violates unique constraint');
          }
          view.put('messages', row.id, row);
        }
        return [];
      },
      locks: (_view, { ids }) => messageLocks(ids),
    },
    'insert-messages': {
      run: (view, given) =>
        insertedRows(given, tenants).flatMap((row) => {
          if (view.get('messages', row.id) !== undefined) return [];
          view.put('messages', row.id, row);
          return [{ id: row.id }];
        }),
      locks: (_view, { ids }) => messageLocks(ids),
    },
    'give-up-message': {
      run: (view, { id, reason, nowMs: now }) =>
        changed(view, [id], isPending, (row) => ({
          ...row,
          ...{ state: 'failed', in_dlq: true, held: false, last_status: null, last_error: reason },
          ...{ last_headers: null, last_body: null, finished_at: timeOf(now) },
          ...{ finished: row.finished + 1, endedAtMs: Math.min(row.endedAtMs, nowMs()) },
        })).map((row) => picked(row, ['id', 'tenant_id', 'overlap', 'schedule_id', 'idempotency_key'])),
      locks: (_view, { id }) => messageLocks([id]),
    },
    'select-dispatch': { run: (view, { ids }) => found(view, ids).map(asDispatched) },
    'record-outcomes': {
      run: (view, given) => outcomesOf(given).flatMap((outcome) => record(view, outcome, nowMs())),
      locks: (_view, { ids }) => messageLocks(ids),
    },
    'insert-attempts': {
      run: (view, given) => {
        for (const row of attemptRows(given)) {
          const key = `${row.message_id} ${row.attempt}`;
          if (view.get('attempts', key) === undefined) view.put('attempts', key, row);
        }
        return [];
      },
    },
    ...cancelStatements,
  };
}

const cancelStatements: StatementModels = {
  'cancel-messages': {
    run: (view, { tenantId, ids, nowMs }) =>
      changed(view, ids, isOf(tenantId, isPending), (row) => ({
        ...row,
        state: 'canceled',
        reason: UNCONFIRMED,
        finished_at: timeOf(nowMs),
        held: false,
        finished: row.finished + 1,
      })).map(asCanceled),
    locks: (_view, { ids }) => messageLocks(ids),
  },
  'select-unconfirmed-cancels': {
    run: (view, { tenantId, ids }) => found(view, ids).filter(isOf(tenantId, isUnconfirmed)).map(asCanceled),
  },
  'confirm-cancels': {
    run: (view, { tenantId, ids }) =>
      changed(view, ids, isOf(tenantId, isUnconfirmed), (row) => ({ ...row, reason: 'canceled by the client' })).map(
        ({ id }) => ({ id }),
      ),
    locks: (_view, { ids }) => messageLocks(ids),
  },
};

function found(view: View, ids: readonly string[]): MessageRow[] {
  return [...new Set(ids)].flatMap((id) => view.get('messages', id) ?? []);
}

/** Changes those of some messages that are wanted, and returns them as they are then. */
export function changed(
  view: View,
  ids: readonly string[],
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

export function isPending({ state }: MessageRow): boolean {
  return state === 'pending';
}

function isUnconfirmed({ state, reason }: MessageRow): boolean {
  return state === 'canceled' && reason === UNCONFIRMED;
}

function isOf(tenantId: number, isWanted: (row: MessageRow) => boolean): (row: MessageRow) => boolean {
  return (row) => row.tenant_id === tenantId && isWanted(row);
}

function asCanceled(row: MessageRow): Row<'cancel-messages'> {
  const columns = picked(row, [
    ...(['id', 'shard', 'overlap', 'schedule_id', 'idempotency_key', 'attempts', 'due_at'] as const),
    ...(['next_attempt_at', 'created_at'] as const),
  ]);
  return { ...columns, body_bytes: row.body.length };
}

function asDispatched(row: MessageRow): Row<'select-dispatch'> {
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

function json(text: string | null): unknown {
  return text === null ? null : (JSON.parse(text) as unknown);
}

/** What a statement refuses because of a column that may not be null. */
class MissingTenant extends SqlError {
  readonly column = 'tenant_id';
}

function insertedRows(given: Params<'insert-messages'>, tenants: ReadonlySet<number>): MessageRow[] {
  const rows = rowsOf({
    ...{ id: given.ids, tenant_id: given.tenantIds, shard: given.shards, kind: given.kinds, state: given.states },
    ...{ reason: given.reasons, held: given.held, schedule_id: given.scheduleIds, overlap: given.overlaps },
    ...{ idempotency_key: given.idempotencyKeys, source_id: given.sourceIds, destination: given.destinations },
    ...{ method: given.methods, body: given.bodies, max_retries: given.maxRetries, timeout_ms: given.timeoutMs },
  });
  const others = rowsOf({
    ...{ occurrenceAtMs: given.occurrenceAtMs, coversUntilMs: given.coversUntilMs, dueAtMs: given.dueAtMs },
    ...{ createdAtMs: given.createdAtMs, headers: given.headers, labels: given.labels, options: given.options },
  });
  return rowsOf({ row: rows, other: others }).map(({ row, other }) => {
    if (!tenants.has(row.tenant_id)) throw new MissingTenant('23502', 'null value in column "tenant_id"');
    const isSkipped = row.state === 'skipped';
    return {
      ...row,
      occurrence_at: timeOrNull(other.occurrenceAtMs),
      covers_until: timeOrNull(other.coversUntilMs),
      due_at: timeOf(other.dueAtMs),
      next_attempt_at: timeOf(other.dueAtMs),
      created_at: timeOf(other.createdAtMs),
      finished_at: isSkipped ? timeOf(other.createdAtMs) : null,
      headers: json(other.headers) as MessageRow['headers'],
      labels: json(other.labels) as MessageRow['labels'],
      options: json(other.options) as MessageRow['options'],
      ...{ started_at: null, attempts: 0, in_dlq: false, node: null },
      ...{ last_status: null, last_error: null, last_headers: null, last_body: null },
      ...{ finished: isSkipped ? 1 : 0, endedAtMs: isSkipped ? 0 : Infinity },
    };
  });
}

function attemptRows(given: Params<'insert-attempts'>): AttemptRow[] {
  return rowsOf({
    ...{ message_id: given.messageIds, attempt: given.attempts, tenant_id: given.tenantIds, status: given.statuses },
    ...{ error: given.errors, body: given.bodies, node: given.nodes, headers: given.headers },
    ...{ started_at: given.startedAtMs, finished_at: given.finishedAtMs, next_attempt_at: given.nextAttemptAtMs },
  }).map((row) => ({
    ...row,
    started_at: timeOf(row.started_at),
    finished_at: timeOf(row.finished_at),
    next_attempt_at: timeOrNull(row.next_attempt_at),
    headers: json(row.headers),
  }));
}

type Outcome = ReturnType<typeof outcomesOf>[number];

function outcomesOf(given: Params<'record-outcomes'>) {
  return rowsOf({
    ...{ id: given.ids, state: given.states, attempt: given.attempts, status: given.statuses, error: given.errors },
    ...{ headers: given.headers, body: given.bodies, startedAtMs: given.startedAtMs, endedAtMs: given.endedAtMs },
    ...{ nextAttemptAtMs: given.nextAttemptAtMs, node: given.nodes },
  });
}

/** record-outcomes.sql. */
function record(view: View, outcome: Outcome, nowMs: number): { id: string }[] {
  const row = view.get('messages', outcome.id);
  const { state } = outcome;
  const taking = state === 'delivered' ? ['pending', 'failed', 'canceled'] : ['pending'];
  if (row === undefined || !taking.includes(row.state)) return [];
  // That a call succeeded is a fact, and corrects a row that another node gave up meanwhile: no second end.
  const isSecondEnd = row.state !== 'pending';
  view.put('messages', row.id, {
    ...row,
    state,
    attempts: Math.max(row.attempts, outcome.attempt),
    ...{ last_status: outcome.status, last_error: outcome.error, last_body: outcome.body, node: outcome.node },
    last_headers: json(outcome.headers),
    started_at: timeOf(outcome.startedAtMs),
    finished_at: state === 'pending' ? null : timeOf(outcome.endedAtMs),
    next_attempt_at: timeOrNull(outcome.nextAttemptAtMs) ?? row.next_attempt_at,
    in_dlq: state === 'failed',
    reason: state === 'pending' ? row.reason : correction(row),
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
